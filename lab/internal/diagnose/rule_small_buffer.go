package diagnose

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/units"
)

const (
	// roomy is the buffer from which on a larger one gains little.
	roomy = 32 << 10
	// slowStream is the payload for each second under which no buffer is too
	// small.
	slowStream = 20e6
	// callBytes is how many bytes a kernel moves in the time that a call costs by
	// itself, roughly: in reads of that size half of the time could be saved.
	callBytes = 4096
)

// smallBuffer: most reads fill their buffer, which is small, and there is more
// to read at once.
func smallBuffer(s *sight) Finding {
	cpu := s.cpuIn(isRead)
	full, room, exact := s.filled()
	if cpu == 0 || full < 0.3 || room < 512 || room >= roomy {
		return Finding{}
	}
	if s.Bytes > 0 && s.Took > 0 && float64(s.Bytes)/s.Took.Seconds() < slowStream {
		return Finding{}
	}
	// A read behind which the next one finds nothing took all that there was.
	waiting := min(1, s.reads.again())
	talk := s.answered(passing(isRead))
	f := Finding{
		Tool: evidence.ToolStrace, Share: full,
		Top: firstPlace(ownSpots(s.cpu, passing(isRead)), "read"),
		Try: "a buffer of 64 KiB or more: bufio.NewReaderSize instead of bufio.NewReader (4,096 bytes), sluice.NewBufReader (64 KiB), or sizes that follow the stream",
	}
	passed := 0.0
	if size, part := usual(s.writes.sizes); size == room && part > 0.5 {
		passed = s.cpuIn(isWrite) // what is read in pieces is passed on in pieces
	}
	f.Score = full * (1 - waiting) * (1 - talk) * (cpu + passed) * s.busy * callBytes / float64(callBytes+room)
	switch {
	case s.Calls == nil:
		f.Tool, f.Share = s.cpuTool, cpu
		f.Clue = fmt.Sprintf("reads brought %s bytes on average, as if all filled a buffer of %s (without strace it is not known)", units.Count(s.Bytes/s.ReadCalls), units.Count(room))
	case exact:
		f.Clue = fmt.Sprintf("%s of reads filled their %s bytes", units.Percent(full), units.Count(room))
	default:
		f.Clue = fmt.Sprintf("%s of reads filled the room that they had, at most %s bytes", units.Percent(full), units.Count(room))
	}
	if s.Bytes > 0 && s.Took > 0 {
		f.Clue += " at " + units.Rate(perSecond(s.Bytes, s.Took))
	}
	f.Clue += fmt.Sprintf("; calls that read took %s of the processor time", units.Percent(cpu))
	if passed > 0 {
		f.Clue += fmt.Sprintf(", and calls that write pieces of the same size %s", units.Percent(passed))
	}
	return f
}

// filled returns what part of the reads filled their buffer, the size of that
// buffer, and whether most had the same size.
func (s *sight) filled() (full float64, room int64, exact bool) {
	if s.Calls != nil {
		r := &s.reads
		room, part := usual(r.asked)
		if part < 0.5 {
			room = most(r.asked) // a buffer that is filled behind what is left in it
		}
		return r.part(r.full), room, part >= 0.5
	}
	if s.Bytes <= 0 || s.ReadCalls <= 0 {
		return 0, 0, false
	}
	// Buffers have round sizes. What reads bring on average when they take what has come
	// is seldom just below one.
	each := s.Bytes / s.ReadCalls
	for room := int64(1 << 10); room < roomy; room *= 2 {
		if each > room-room/16 && each <= room {
			return float64(each) / float64(room), room, false
		}
	}
	return 0, 0, false
}
