package diagnose

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// trickle is what is left of the score of reads that asked for much and got
// little: the other end sends so, and a reader can hardly help it.
const trickle = 0.3

// smallReads: most calls that read bring few bytes.
func smallReads(s *sight) Finding {
	if s.Calls == nil {
		return Finding{} // without sizes there is nothing to go by
	}
	cpu := s.cpuIn(isRead)
	r := &s.reads
	small, meant := r.part(r.under512), r.askedUnder(512)
	if cpu == 0 || small == 0 {
		return Finding{}
	}
	talk := s.answered(passing(isRead))
	weight := trickle + (1-trickle)*min(1, meant/small)
	f := Finding{
		Tool: evidence.ToolStrace, Share: small,
		Top:   firstPlace(ownSpots(s.cpu, passing(isRead)), "read"),
		Clue:  fmt.Sprintf("%s of reads were under 512 B", units.Percent(small)),
		Score: small * cpu * s.busy * weight * (1 - talk*(1-dialogue)),
	}
	if meant > 0.3 {
		f.Clue += fmt.Sprintf(", and %s asked for no more", units.Percent(meant))
		f.Try = "read into a buffer of 16 KiB or more and parse there: bufio.Reader, or sluice.BufReader, which lends the bytes"
	} else {
		f.Clue += fmt.Sprintf(" though %s asked for more", units.Percent(1-meant))
		f.Try = "the other end sends little at a time: gather there; or wait for more here before reading (SO_RCVLOWAT)"
	}
	f.Clue += fmt.Sprintf("; calls that read took %s of the processor time", units.Percent(cpu))
	return f
}
