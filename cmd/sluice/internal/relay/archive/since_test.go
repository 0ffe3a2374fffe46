package archive

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"
)

// A disk that does not answer keeps nothing waiting that asks since when there are recordings, for each of many
// streams: the list of streams does. Once it answers, that is known.
func TestSinceDoesNotWaitForTheDisk(t *testing.T) {
	known, r, _ := newArchive(t, record.MP4)
	recordClip(t, r, "live/s", "other/s")
	answers := make(chan struct{})
	a := New(func() *os.Root {
		<-answers
		return r.Root()
	}, r.Open)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range 100 {
			if _, ok := a.Since(fmt.Sprintf("app%d/s", n)); ok {
				t.Error("it is known")
			}
			a.Since("live/s")
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Error("it waits for the disk")
	}
	close(answers)
	<-done
	for _, stream := range []string{"live/s", "other/s"} {
		for end := time.Now().Add(20 * time.Second); ; { // the disk has much to answer
			want, there := known.Since(stream)
			if at, ok := a.Since(stream); ok && there && at.Equal(want) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("it is not known of %s", stream)
			}
		}
	}
}
