//go:build unix

package access

import (
	"errors"
	"os"
	"testing"
)

// Descriptors are scarce when the lowest that is free has too high a number.
func TestScarceDescriptors(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	used := int(f.Fd()) // about
	f.Close()
	if !scarce(used/2) || scarce(2*used+100) {
		t.Errorf("some %d are in use: of %d scarce %v, of %d %v", used, used/2, scarce(used/2), 2*used+100, scarce(2*used+100))
	}
}

// Viewers are refused while an eighth of the descriptors is left, publishers when all but
// half of that are in use.
func TestDescriptorsAreKeptFromViewers(t *testing.T) {
	before := mostDescriptors
	defer func() { mostDescriptors = before }()
	for _, c := range []struct {
		most            int
		viewer, publish bool
	}{{1 << 20, true, true}, {1, false, false}, {0, true, true}} { // 0 is no known limit
		mostDescriptors = func() int { return c.most }
		g := mustNew(t, Options{})
		for action, room := range map[Action]bool{Play: c.viewer, Publish: c.publish} {
			release, err := try(t, g, action, "live/s", "10.0.0.1:1")
			if room != (err == nil) || !room && !errors.Is(err, ErrLimit) {
				t.Errorf("%d descriptors, %s: %v", c.most, action, err)
			}
			if err == nil {
				release()
			}
		}
		if Scarce() == c.viewer {
			t.Errorf("%d descriptors: scarce is %v", c.most, !c.viewer)
		}
	}
}
