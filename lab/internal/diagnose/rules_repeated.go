package diagnose

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// fewRepeats is how often something is done before it counts as again and again.
const fewRepeats = 15

// delayedAck: the second of two small writes waits in the kernel until the peer has acknowledged the
// first, which it does only after some 40 ms, since it waits for something to answer.
func delayedAck(s *facts) (Finding, string) {
	c := s.Calls
	if c == nil || c.Delayed < fewRepeats || c.Took <= 0 {
		return Finding{}, ""
	}
	part := float64(c.Delayed) / float64(c.Replies)
	took := min(1, c.DelayedTime.Seconds()/c.Took.Seconds())
	each := c.DelayedTime / time.Duration(c.Delayed)
	return Finding{
		Tool: evidence.ToolStrace, Top: where(s.cpu, passing(isWrite), "write"), Share: part, Score: 0.9 * part * took,
		Clue: fmt.Sprintf("%s of replies came %s behind the second of small writes: it waits for the acknowledgement of the first (Nagle), which the peer delays by 40 ms", units.Percent(part), units.Time(each)),
		Try:  "one write for what belongs together (a buffer, writev, MSG_MORE), and TCP_NODELAY",
	}, ""
}

// mostOnNew is how many writes a connection has that is made for one request, with its handshake.
const mostOnNew = 4

// connectionPerRequest: a connection to the same address is made again and again, with little on each.
func connectionPerRequest(s *facts) (Finding, string) {
	c := s.Calls
	if c == nil || c.Dialled.Count < fewRepeats || c.Requests > mostOnNew*c.Dialled.Count {
		return Finding{}, ""
	}
	cpu := s.cpuIn(isDialling)
	return Finding{
		Tool: evidence.ToolStrace, Top: where(s.cpu, passing(isDialling), "connect"), Share: cpu, Score: cpu * s.busy,
		Clue: fmt.Sprintf("%s connections to %s within %s, with %.1f writes on each; making and ending them took %s of the processor time",
			units.Count(c.Dialled.Count), c.Dialled.Name, units.Time(c.Took), float64(c.Requests)/float64(c.Dialled.Count), units.Percent(cpu)),
		Try: "keep connections and use them again: a pool, HTTP keep-alive (read a reply's body to its end, one client for all requests)",
	}, ""
}

// reopenedFile: a file is opened again and again.
func reopenedFile(s *facts) (Finding, string) {
	c := s.Calls
	if c == nil || c.Opened.Count < fewRepeats {
		return Finding{}, ""
	}
	part := float64(c.Opened.Count) / float64(c.Opens)
	cpu := s.cpuIn(isOpening)
	return Finding{
		Tool: evidence.ToolStrace, Top: where(s.cpu, passing(isOpening), "open"), Share: part, Score: part * cpu * s.busy,
		Clue: fmt.Sprintf("%s was opened %s times within %s; opening files took %s of the processor time", c.Opened.Name, units.Count(c.Opened.Count), units.Time(c.Took), units.Percent(cpu)),
		Try:  "open it once and keep it (pread from its start, append to its end), or keep what is in it until it changes (inotify, its time)",
	}, ""
}
