package live

import (
	"runtime"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
)

// A stream whose publisher has gone is over at once in a hub that waits for none. It is then in no
// list, however late the goroutine is that takes it over.
func TestAdoptingAStreamThatIsOverAtOnce(t *testing.T) {
	hub := NewHub(HubOptions{Stream: StreamOptions{Grace: time.Minute}})
	defer hub.Close()
	p, err := hub.Publish("a/b", PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Publish(Frame{Type: flv.TagVideo, Payload: mem.Wrap(body(0), nil)}); err != nil {
		t.Fatal(err)
	}
	p.Close()
	st, tags, ok := p.Stream().State()
	if !ok || st.By != nil {
		t.Fatalf("%+v", st)
	}
	next := NewHub(HubOptions{})
	for range 100 {
		next.mu.Lock() // the adopting goroutine is late
		adopted := make(chan *Stream, 1)
		go func() {
			s, _, err := next.Adopt(st, tags)
			if err != nil {
				t.Error(err)
			}
			adopted <- s
		}()
		for range 100 {
			runtime.Gosched()
		}
		next.mu.Unlock()
		s := <-adopted
		if s == nil {
			return
		}
		<-s.Done()
		for began := time.Now(); ; runtime.Gosched() {
			if _, there := next.Stream("a/b"); !there {
				break
			}
			if time.Since(began) > 5*time.Second {
				t.Fatal("a stream that is over is in the hub")
			}
		}
	}
}
