package diagnose

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// isBlockWork is what a compressor of the deflate family does once for each
// block, whatever the block's length: building and writing its tables.
var isBlockWork = matching(`flate\.\(\*(huffmanEncoder\)\.(generate|bitCounts|assignEncodingAndSize)|huffmanBitWriter\)\.(indexTokens|generateCodegen|writeDynamicHeader|writeStoredHeader|writeFixedHeader|dynamicSize|fixedSize|flush)|byLiteral|byFreq)`)

// flushPerWrite: a compressor is flushed for each little write.
func flushPerWrite(s *sight) Finding {
	cpu := s.cpuIn(isFlush)
	if cpu == 0 {
		return Finding{}
	}
	// Name the caller of the flush, who decides when to flush, and not the compressor,
	// which may be a third-party package.
	spots := spots(s.cpu, passing(isFlush), caller)
	f := Finding{
		Tool: s.cpuTool, Share: cpu, Top: firstPlace(spots, "Flush"),
		Try: "gather 16 KiB or more before Flush, or flush by time, every 100 ms say; each flush ends a block, and the next begins with tables of its own",
	}
	f.Clue = fmt.Sprintf("%s of the processor time passed in Flush of a compressor", units.Percent(cpu))
	if each := int64(0); s.Calls == nil && s.WriteCalls > 0 && s.Bytes > 0 {
		var small float64
		small, each = s.smallWrites()
		f.Clue += fmt.Sprintf(", with %s of payload for each write (without strace the writes' sizes are not known)", units.Bytes(each))
		f.Score = cpu * small * s.busy
		return f
	}
	if s.Calls == nil {
		work := s.cpuShare(func(frames []evidence.Frame) bool { return through(frames, isFlush) && through(frames, isBlockWork) })
		f.Clue += fmt.Sprintf(", %s for the tables of its blocks (without strace the writes' sizes are not known)", units.Percent(work))
		// The tables are half of what a block costs by itself, the calls that write
		// it the other half.
		f.Score = min(cpu, 2*work) * s.busy
		if work < cpu/4 {
			f.Score = 0
		}
		return f
	}
	small := s.writes.part(s.writes.under512)
	f.Clue += fmt.Sprintf(", and %s of writes behind it were under 512 B", units.Percent(small))
	f.Score = cpu * small * s.busy * s.telling()
	return f
}

// caller is the own frame outside of the outermost compressor's flush.
func caller(frames []evidence.Frame) evidence.Frame {
	last := 0
	for i, f := range frames {
		if isFlush(f.Func) {
			last = i
		}
	}
	if f, ok := own(frames[last+1:]); ok {
		return f
	}
	return frames[last]
}
