package hooks

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// What was delivered is written down also when nothing follows it, or what follows is not delivered: after
// a crash hours later it does not come again.
func TestTheLastDeliveriesAreWrittenDown(t *testing.T) {
	for name, fails := range map[string]bool{"nothing follows": false, "the receiver goes away": true} {
		t.Run(name, func(t *testing.T) {
			r, dir := newReceiver(t), t.TempDir()
			r.listen()
			e := reporting(t, r, dir)
			const events = 3
			for n := range events {
				numbered(e, n, n+1)
				r.inOrder(t, n+1)
			}
			if fails {
				r.faults(cut, nil)
				numbered(e, events, events+1)
			}
			eventually(t, "the position is behind what was delivered", func() bool {
				text, err := os.ReadFile(filepath.Join(dir, positionFile))
				if err != nil {
					return false
				}
				var at position
				if err := json.Unmarshal(text, &at); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				spooled, err := os.ReadFile(newestFile(t, dir))
				return err == nil && at.Offset <= int64(len(spooled)) && bytes.Count(spooled[:at.Offset], []byte("\n")) == events
			})
			r.faults(nil, nil)
			ended(t, e)
		})
	}
}
