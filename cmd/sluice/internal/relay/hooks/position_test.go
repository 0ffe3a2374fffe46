package hooks

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// What was delivered is written down also when nothing follows it: after a crash at rest, hours later
// say, no event comes again.
func TestTheLastDeliveriesAreWrittenDown(t *testing.T) {
	r, dir := newReceiver(t), t.TempDir()
	r.listen()
	e := reporting(t, r, dir)
	defer ended(t, e)
	for n := range 3 {
		numbered(e, n, n+1)
		r.inOrder(t, n+1)
	}
	eventually(t, "the position is behind all events", func() bool {
		text, err := os.ReadFile(filepath.Join(dir, positionFile))
		if err != nil {
			return false
		}
		var at position
		if err := json.Unmarshal(text, &at); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		f, err := os.Stat(newestFile(t, dir))
		return err == nil && at.Offset == f.Size()
	})
}
