package record

import (
	"log/slog"
	"time"
)

// A recording may begin so many files in this time. Publishers whose times jump, or whose
// headers change, with each key frame would fill the disk with thousands.
const (
	paceFiles = 20
	paceTime  = 10 * time.Second
)

// pace counts the files of a recording.
type pace struct {
	since time.Time
	files int
}

// allows reports whether another file may begin now.
func (p *pace) allows(now time.Time, log *slog.Logger) bool {
	if d := now.Sub(p.since); d >= paceTime || d < 0 {
		*p = pace{since: now}
	}
	p.files++
	if p.files == paceFiles+1 {
		log.Warn("the stream begins a file too often: frames are missing from the recording", "files", paceFiles, "in", paceTime)
	}
	return p.files <= paceFiles
}
