package diagnose

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// dialogue is what is left of the score of small calls that each wait for an
// answer: they can only be fewer if several are sent before the first answer.
const dialogue = 0.3

// smallWrites: most calls that write move few bytes, so that the calls cost
// more than the bytes. What a compressor writes when it is flushed belongs to
// another rule.
func smallWrites(s *sight) Finding {
	writes := func(frames []evidence.Frame) bool { return through(frames, isWrite) && !through(frames, isFlush) }
	cpu := s.cpuShare(writes)
	if cpu == 0 {
		return Finding{}
	}
	spots := ownSpots(s.cpu, writes)
	talk := s.answered(writes)
	f := Finding{
		Top: firstPlace(spots, "write"),
		Try: "gather what is written in a buffer of 16 KiB or more (bufio.Writer, sluice.BufWriter) and flush it when there is nothing more to say, or hand several pieces to one call (net.Buffers)",
	}
	if talk > 0.5 {
		f.Try = "each of them waits for an answer: send several requests before the first answer is awaited, and gather those"
	}
	weight := cpu * s.busy * (1 - talk*(1-dialogue))
	if s.Calls == nil {
		small, each := s.smallWrites()
		f.Tool, f.Share = s.cpuTool, cpu
		f.Clue = fmt.Sprintf("calls that write took %s of the processor time, with %s of payload for each call (without strace their sizes are not known)", units.Percent(cpu), units.Bytes(each))
		f.Score = weight * small
		return f
	}
	w := &s.writes
	small := w.part(w.under512)
	f.Tool, f.Share = evidence.ToolStrace, small
	size, part := usual(w.sizes)
	f.Clue = fmt.Sprintf("%s of writes were under 512 B", units.Percent(small))
	if part > 0.5 && size < 512 {
		f.Clue += fmt.Sprintf(", most of them %s", units.Bytes(size))
	}
	f.Clue += fmt.Sprintf("; calls that write took %s of the processor time", units.Percent(cpu))
	f.Score = weight * small * s.telling()
	return f
}

// telling is how much the number of small writes says: little when a write
// carries a lot on average. Strace, which slows the workload down, sees few rounds of it and
// their ends, which are small, more often.
func (s *sight) telling() float64 {
	if s.Bytes <= 0 || s.WriteCalls <= 0 {
		return 1
	}
	return min(1, 4096/(float64(s.Bytes)/float64(s.WriteCalls)))
}

// smallWrites estimates, from the payload and the number of calls, the part of the
// writes that were under 512 bytes, and how many bytes each carried.
func (s *sight) smallWrites() (part float64, each int64) {
	if s.Bytes <= 0 || s.WriteCalls <= 0 {
		return 0, 0
	}
	each = s.Bytes / s.WriteCalls
	if each >= 512 {
		return 0, each
	}
	return 1 - float64(each)/1024, each
}
