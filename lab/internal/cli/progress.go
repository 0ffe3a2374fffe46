package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/matrix"
	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// progress says on standard error how far a run is: on a terminal in one line that is
// written over, elsewhere in lines.
type progress struct {
	w       io.Writer
	live    bool
	columns func() int // of the terminal, which may change
	showing bool
	began   time.Time
	round   int       // of matrix: what was said last
	said    time.Time // and when
}

func newProgress(w io.Writer) *progress {
	return &progress{w: w, live: terminal(w), columns: func() int { return columns(w) }, began: time.Now()}
}

func (p *progress) show(text string) {
	if !p.live {
		fmt.Fprintln(p.w, text)
		return
	}
	if n := p.columns(); n > 2 { // only the last line of a longer text would be written over
		text = document.Clip(text, n-2)
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", text)
	p.showing = true
}

func (p *progress) clear() {
	if p.showing {
		io.WriteString(p.w, "\r\x1b[K")
		p.showing = false
	}
}

func (p *progress) bench(e measure.Event) {
	switch {
	case p.live && e.Outcome != nil:
		p.clear()
	case p.live:
		text := "preparing"
		if e.Round > 0 {
			text = fmt.Sprintf("round %d", e.Round)
		}
		p.show(fmt.Sprintf("[%d/%d] %s: %s  %v", e.Index+1, e.Total, e.Scenario, text, time.Since(p.began).Round(time.Second)))
	case e.Outcome != nil:
		p.show(fmt.Sprintf("%d/%d %s: %s, rounds %d, %.1f s", e.Index+1, e.Total, e.Scenario, e.Outcome.State, e.Outcome.Rounds, e.Outcome.Seconds))
	}
}

func (p *progress) load(now load.Progress) {
	text := fmt.Sprintf("%6s  %s  requests %s", now.At.Round(time.Millisecond), units.Rate(float64(now.Bytes)), units.Count(now.Requests))
	if now.Errors > 0 {
		text += fmt.Sprintf("  errors %d", now.Errors)
	}
	if !now.Measuring {
		text = "warm-up" + text
	}
	p.show(text)
}

// matrix shows the cell that is measured; elsewhere than on a terminal the beginning of each
// round and a line every half a minute.
func (p *progress) matrix(e matrix.Event) {
	round := fmt.Sprintf("round %d of %d", e.Round, e.Rounds)
	switch {
	case p.live:
		p.show(fmt.Sprintf("[%d/%d] %s: %s  %s left", e.Done+1, e.Total, round, e.Cell, units.Span(e.Left)))
	case e.Round != p.round || time.Since(p.said) > 30*time.Second:
		p.round, p.said = e.Round, time.Now()
		p.show(fmt.Sprintf("%d/%d %s, %s left", e.Done, e.Total, round, units.Span(e.Left)))
	}
}
