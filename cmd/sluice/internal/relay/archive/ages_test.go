package archive

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"
)

// clocked is an archive whose clock can be set, with files as large as their number.
type clocked struct {
	*Archive
	t      *testing.T
	dir    string
	wall   time.Time
	passed time.Duration
	files  int
}

func newClocked(t *testing.T) *clocked {
	a, _, dir := newArchive(t, record.FLV)
	c := &clocked{Archive: a, t: t, dir: dir, wall: time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)}
	a.now = func() time.Time { return c.wall }
	a.elapsed = func() time.Duration { return c.passed }
	if err := os.Mkdir(filepath.Join(dir, "live"), 0o755); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *clocked) pass(d time.Duration) { c.wall, c.passed = c.wall.Add(d), c.passed+d }

// end makes a recording that ends now.
func (c *clocked) end() {
	c.t.Helper()
	c.files++
	name := filepath.Join(c.dir, "live", fmt.Sprintf("s%d-%s.flv", c.files, c.wall.Format("20060102-150405")))
	if err := os.WriteFile(name, make([]byte, c.files), 0o644); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Chtimes(name, c.wall, c.wall); err != nil {
		c.t.Fatal(err)
	}
}

// want sweeps, and tests which files there are then.
func (c *clocked) want(l Limits, what string, files ...int64) {
	c.t.Helper()
	if _, _, err := c.Sweep(l); err != nil {
		c.t.Error(err)
	}
	list, err := c.walk("", maxFiles)
	if err != nil {
		c.t.Fatal(err)
	}
	left := map[int64]bool{}
	for _, r := range list {
		left[r.Size] = true
	}
	ok := len(left) == len(files)
	for _, n := range files {
		ok = ok && left[n]
	}
	if !ok {
		c.t.Errorf("%s: left are %v, want %v", what, left, files)
	}
}

const ten = 10 * 365 * 24 * time.Hour

// Recordings are kept as long as they are to be, however the clock is set while the server runs.
func TestWhatIsKeptWhenTheClockIsSet(t *testing.T) {
	for _, by := range []time.Duration{ten, -ten, 2 * time.Hour, -2 * time.Hour} {
		c := newClocked(t)
		day := Limits{Age: 24 * time.Hour}
		c.end()
		c.pass(time.Hour)
		c.want(day, "at the start", 1)
		c.pass(30 * time.Second)
		c.end() // ends before the clock is set, and is seen after that
		c.wall = c.wall.Add(by)
		c.pass(30 * time.Second)
		c.end()
		c.want(day, fmt.Sprint(by), 1, 2, 3)
		c.pass(22 * time.Hour)
		c.want(day, fmt.Sprint(by, " and 22h"), 1, 2, 3)
		c.pass(time.Hour)
		if by == -2*time.Hour { // it may be the first clock that was wrong
			c.pass(2 * time.Hour)
		} else {
			c.want(day, fmt.Sprint(by, " and 23h"), 2, 3)
		}
		c.pass(time.Hour + time.Minute)
		c.want(day, fmt.Sprint(by, " and all the time"))
	}
}

// A server that starts while its machine's clock is wrong deletes nothing for that.
func TestWhatIsKeptFromAStartWithAWrongClock(t *testing.T) {
	for _, by := range []time.Duration{ten, -ten} {
		c := newClocked(t)
		day := Limits{Age: 24 * time.Hour}
		c.end()
		c.pass(time.Hour)
		c.wall = c.wall.Add(by)
		c.want(day, "at the start", 1)
		c.pass(settling - time.Second)
		c.want(day, "before the clock is right", 1)
		c.wall = c.wall.Add(-by)
		c.pass(time.Minute)
		c.want(day, "when the clock is right", 1)
		c.pass(22 * time.Hour)
		c.want(day, "before its time", 1)
		c.pass(2 * time.Hour)
		c.want(day, "after its time")
	}
}

// What is more than the size goes by age, not by what a clock that was set back has written.
func TestOldestGoesFirstWhenTheClockIsSetBack(t *testing.T) {
	c := newClocked(t)
	c.end()
	c.pass(time.Minute)
	c.end()
	c.want(Limits{Size: 6}, "both", 1, 2)
	c.wall = c.wall.Add(-ten)
	c.pass(time.Minute)
	c.end()
	c.want(Limits{Size: 6}, "all", 1, 2, 3)
	c.pass(time.Minute)
	c.want(Limits{Size: 5}, "the newer two", 2, 3)
}
