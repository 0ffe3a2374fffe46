package webrtc

import "testing"

// Each source that is read has a goroutine and a buffer: a track has one that sends it, and one that sends
// packets of it again, of however many the client names.
func TestATrackHasOneSourceOfRepairs(t *testing.T) {
	var x publishing
	taken := 0
	for source := range 100 {
		for number := range x.repaired {
			if x.takesRepairs(number) {
				taken++
				x.reading.Done()
			}
		}
		if x.takes(0, 1000) != (source == 0) {
			t.Errorf("source %d of the track itself", source)
		}
	}
	if taken != len(x.repaired) {
		t.Errorf("%d sources of repairs for %d tracks", taken, len(x.repaired))
	}
	x.closed = true
	if x.repaired = [2]bool{}; x.takesRepairs(0) {
		t.Error("a session that has ended takes one")
	}
}
