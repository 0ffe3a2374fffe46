package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/sluice-go/sluice/lab/internal/measure"
)

// progress says on standard error how far a run is: on a terminal in one line
// that is written over, elsewhere in a line for each finished scenario. Writes happen
// between recorded runs only.
type progress struct {
	w       io.Writer
	live    bool
	began   time.Time
	showing bool
}

func newProgress(w io.Writer) *progress {
	return &progress{w: w, live: terminal(w), began: time.Now()}
}

// step shows what is going on.
func (p *progress) step(e measure.Event) {
	spent := time.Since(p.began).Round(time.Second)
	if !p.live {
		if o := e.Outcome; o != nil {
			fmt.Fprintf(p.w, "%d/%d %s: %s, rounds %d, %.1f s\n", e.Index+1, e.Total, e.Scenario, o.State, o.Rounds, o.Seconds)
		}
		return
	}
	if e.Outcome != nil {
		p.clear()
		return
	}
	text := "preparing"
	if e.Round > 0 {
		text = fmt.Sprintf("round %d", e.Round)
	}
	fmt.Fprintf(p.w, "\r\x1b[K[%d/%d] %s: %s  %v", e.Index+1, e.Total, e.Scenario, text, spent)
	p.showing = true
}

// clear takes the line away, before something else is printed.
func (p *progress) clear() {
	if p.showing {
		io.WriteString(p.w, "\r\x1b[K")
		p.showing = false
	}
}
