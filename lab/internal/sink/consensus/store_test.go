package consensus

import (
	"path/filepath"
	"testing"

	"github.com/sluice-go/sluice/internal/testdisk"
)

func TestTrioKeepsWhatItAcknowledges(t *testing.T) {
	t.Parallel()
	dir := testdisk.Dir(t)
	l := newLedger()
	for _, name := range []string{"first", "second"} {
		s, err := Open(Options{Dir: dir, Trio: true, heartbeat: soon, Log: testLog(t)})
		if err != nil {
			t.Fatal(err)
		}
		c := &cluster{t: t}
		before := l.len()
		stop := c.load(l, name, func() []*Store { return []*Store{s} })
		eventually(t, func() string {
			if l.len() < before+300 {
				return "few acknowledgements"
			}
			return ""
		})
		stop()
		settle(t, func() []NodeStats { return s.Stats().Nodes })
		t.Logf("%+v", s.Stats())
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		l.check(t, filepath.Join(dir, "1"), filepath.Join(dir, "2"), filepath.Join(dir, "3"))
	}
}
