package live

import (
	"bytes"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"
)

// Batches that go out from pages of a file: what is still on its way to those
// who read late is not what has been put there since.
func TestStagedBytesStayWhatTheyWere(t *testing.T) {
	for _, form := range []Form{FormFLV, FormRTMP, FormWebSocket} {
		t.Run(form.String(), func(t *testing.T) {
			h := NewHub(HubOptions{Stream: StreamOptions{GOPBytes: 64 << 20, Ahead: time.Hour}})
			defer h.Close()
			p := mustPublish(t, h, "s", PublishOptions{})
			w := newWriter(t, WriterOptions{Loops: 1, Merge: 3 * time.Millisecond})
			var sent []tag
			const viewers, frames = 2 * stageFor, 150
			late := make(chan struct{}) // until then half of them do not read
			results := make(chan []byte, viewers)
			for i := range viewers {
				s, c := pair(t)
				add(t, w, s, p.Stream(), ViewerOptions{Form: form, FromStart: true, Merge: -1})
				go func() {
					if i%2 == 0 {
						<-late
					}
					b, err := io.ReadAll(c)
					if err != nil {
						t.Error(err)
					}
					results <- b
				}()
			}
			st := p.Stream()
			for i := range frames {
				g := video(uint32(i)*40, i%50 == 0, 9<<10+i)
				sent = append(sent, g)
				send(t, p, g)
				if i%3 == 2 {
					// A batch at a time, as far as the sockets take it.
					for st.sent.frames.Load() < int64(i+1)*viewers/2 {
						runtime.Gosched()
					}
				}
			}
			p.Close()
			close(late)
			var first []byte
			for range viewers {
				b := <-results
				if form == FormWebSocket {
					b, _ = unframe(t, b)
				}
				if first == nil {
					if first = b; form == FormRTMP {
						equalTags(t, rtmpTags(t, b), sent)
					} else {
						equalTags(t, fileOf(t, b), sent)
					}
				}
				if !bytes.Equal(b, first) {
					t.Error("two viewers got different bytes")
				}
			}
		})
	}
}

// Viewers over a loop that can stage nothing get the same.
func TestStageThatFails(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{Loops: 1})
	w.loops[0].socket.stage.fail()
	var wg sync.WaitGroup
	tags := clipTags(t)
	for range 2 * stageFor {
		s, c := pair(t)
		add(t, w, s, p.Stream(), ViewerOptions{FromStart: true, Merge: 5 * time.Millisecond})
		wg.Add(1)
		go func() {
			defer wg.Done()
			equalTags(t, fileTags(t, c), tags)
		}()
	}
	send(t, p, tags...)
	p.Close()
	wg.Wait()
}
