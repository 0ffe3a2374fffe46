//go:build linux

package realtest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// A bound is a figure of a test that repeats something, and the most that it may be.
type bound struct {
	what     string
	is, most time.Duration
	number   bool // is and most are numbers of something
	free     bool // it is shown, and not judged
}

// judge prints a table of bounds, and fails the test for each that is not kept. Call it
// deferred, so that a test that ends early has its table, too.
func judge(t *testing.T, title string, bounds ...bound) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n| measure | is | at most | |\n|---|---|---|---|\n", title)
	for _, x := range bounds {
		show := func(d time.Duration) string {
			if x.number {
				return fmt.Sprint(int64(d))
			}
			return d.Round(time.Millisecond).String()
		}
		most, verdict := show(x.most), "met"
		switch {
		case x.free:
			most, verdict = "-", "not judged"
		case x.is > x.most:
			verdict = "missed"
			t.Errorf("%s: %s, at most %s are allowed", x.what, show(x.is), most)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", x.what, show(x.is), most, verdict)
	}
	t.Log(b.String())
}

// gaps are the longest gaps of the rounds of a test. A round in which viewers of another
// stream, whose nodes live, had a gap too was disturbed by the machine: from what is measured
// in it that gap is taken off.
type gaps struct {
	control []*audience
	since   time.Time

	mu                sync.Mutex
	calm, disturbed   int
	worst, worstNoise time.Duration
}

// begin begins a round.
func (g *gaps) begin(viewers ...*audience) {
	for _, v := range append(viewers, g.control...) {
		v.again()
	}
	g.since = time.Now()
}

// disturbance returns the longest gap of the control in this round, with that which has not
// ended yet.
func (g *gaps) disturbance() (longest time.Duration) {
	for _, v := range g.control {
		v.mu.Lock()
		longest = max(longest, v.longest, time.Since(later(v.latest.at, g.since)))
		v.mu.Unlock()
	}
	return longest
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// end ends a round, in which what is measured took so long at most, and reports whether the
// machine was calm.
func (g *gaps) end(longest time.Duration) bool {
	noise := g.disturbance()
	g.mu.Lock()
	defer g.mu.Unlock()
	if noise >= disturbance {
		g.disturbed++
		g.worstNoise = max(g.worstNoise, longest-noise)
		return false
	}
	g.calm++
	g.worst = max(g.worst, longest)
	return true
}

// bounds are those of the rounds for what was measured in them.
func (g *gaps) bounds(what string, most time.Duration) []bound {
	g.mu.Lock()
	defer g.mu.Unlock()
	return []bound{
		{what: fmt.Sprintf("%s, worst of %d", what, g.calm), is: g.worst, most: most, free: !repeats() || g.calm == 0},
		{what: fmt.Sprintf("the same, of %d that the machine disturbed, less another stream's gap", g.disturbed), is: g.worstNoise, most: most, free: !repeats() || g.disturbed == 0},
	}
}

// broken is how many viewers got something that is wrong, or were disconnected, and how many
// pictures are missing.
func broken(viewers []*audience) (wrong, missing int) {
	for _, v := range viewers {
		v.mu.Lock()
		if v.err != nil {
			wrong++
		}
		missing += v.skipped
		v.mu.Unlock()
	}
	return wrong, missing
}

// longest is the longest gap of any of them.
func longest(viewers []*audience) (d time.Duration) {
	for _, v := range viewers {
		v.mu.Lock()
		d = max(d, v.longest)
		v.mu.Unlock()
	}
	return d
}
