package config

import (
	"math"
	"time"
)

// The values of RecordFormat.
const (
	RecordFLV = "flv"
	RecordMP4 = "mp4"
)

// Recording configures what is written to files.
type Recording struct {
	Record        string // directory; "": nothing is recorded
	RecordAll     bool   // otherwise what the API begins
	RecordFormat  string // RecordFLV or RecordMP4
	RecordSegment time.Duration
	RecordKeep    time.Duration
	RecordSize    int64 // bytes
	Rewind        time.Duration
}

// maxRecord is the longest time of recordings in settings.
const maxRecord = 10 * 365 * 24 * time.Hour

func (g *Recording) settings() []Setting {
	return []Setting{
		{Name: "record", Live: true, Scoped: true, Usage: "write streams to files in this `directory`",
			value: text(&g.Record)},
		{Name: "record-all", Default: "true", Live: true, Scoped: true, Usage: "record everything that is published; otherwise what the API begins",
			value: boolean(&g.RecordAll)},
		{Name: "record-format", Default: RecordFLV, Usage: "`format` of recordings: flv, or mp4 for clips, rewinding and files that browsers play",
			value: text(&g.RecordFormat), Choices: []string{RecordFLV, RecordMP4}},
		{Name: "record-segment", Default: "0s", Usage: "begin another file at the first key frame after this `time`; 0 for one file",
			value: duration(&g.RecordSegment), fits: zeroOr(&g.RecordSegment, time.Second, 24*time.Hour)},
		{Name: "record-keep", Default: "0s", Live: true, Usage: "delete recordings this `time` after their end; 0 for never",
			value: duration(&g.RecordKeep), fits: zeroOr(&g.RecordKeep, time.Minute, maxRecord)},
		{Name: "record-size", Default: "0", Live: true, Usage: "delete the oldest recordings when all together have more than this `size`; 0 for never",
			value: size(&g.RecordSize), fits: sizeBetween(&g.RecordSize, 0, math.MaxInt64)},
		{Name: "rewind", Default: "24h", Live: true, Scoped: true, Usage: "viewers may go back by this `time` in recordings in MP4, with ?from=-2h; 0 for not at all",
			value: duration(&g.Rewind), fits: zeroOr(&g.Rewind, time.Second, maxRecord)},
	}
}
