package relay

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hooks"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// A heldAnswer is sent when the server has been closed, or after a while.
type heldAnswer struct {
	http.ResponseWriter
	began, closed chan struct{}
	once          sync.Once
	late          bool // it was sent after the end of the server
}

func (h *heldAnswer) Write(p []byte) (int, error) {
	h.once.Do(func() { close(h.began) })
	select {
	case <-h.closed:
		h.late = true
	case <-time.After(200 * time.Millisecond): // that it does not end meanwhile
	}
	return h.ResponseWriter.Write(p)
}

// A server has not ended while an answer is sent, which has references to segments.
func TestHLSAnswersEndBeforeTheServer(t *testing.T) {
	s := hlsServe(t, nil)
	f := s.feeding(t, "/live/s.flv")
	f.loop(t)
	s.awaitStream(t, "live/s")
	var v *hlsViewer
	f.during(t, func() { v = s.watchHLS(t, "/live/s.m3u8") })
	segment := hlsJoin(t, v.media, v.settled(t).Segments[0].URI)
	h := &heldAnswer{ResponseWriter: httptest.NewRecorder(), began: make(chan struct{}), closed: make(chan struct{})}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		s.hls.ServeHTTP(h, httptest.NewRequest("GET", segment, nil))
	}()
	<-h.began
	s.Close()
	close(h.closed)
	<-answered
	if code := h.ResponseWriter.(*httptest.ResponseRecorder).Code; code != 200 || h.late {
		t.Errorf("status %d; sent after the end of the server: %v", code, h.late)
	}
}

// A viewer who is ending when the server ends, here by a kick, has its event too.
func TestTheEndOfAnHLSViewerIsReportedWithTheServersEnd(t *testing.T) {
	log, url := receiveEvents(t, false)
	s := hlsServe(t, func(c *relayConfig) { c.EventHook = url })
	f := s.feeding(t, "/live/s.flv")
	f.loop(t)
	s.awaitStream(t, "live/s")
	f.during(t, func() {
		// Who asks for no more than the first playlist is no viewer yet.
		v := s.watchHLS(t, "/live/s.m3u8")
		if status, text := s.get(t, v.media); status != 200 {
			t.Errorf("%d %s", status, text)
		}
	})
	began, closed := make(chan struct{}), make(chan struct{})
	begin := sync.OnceFunc(func() { close(began) })
	for _, c := range s.host.Register.List() {
		if c.Role != session.RoleViewer {
			continue
		}
		c.Attach(func() session.Figures { // which its end asks for
			begin()
			select {
			case <-closed:
			case <-time.After(200 * time.Millisecond): // that the server does not end meanwhile
			}
			return session.Figures{}
		}, nil)
		c.Stop(session.ErrKicked)
	}
	<-began
	s.end(t) // with time to deliver what has happened
	close(closed)
	ends := 0
	for _, v := range log.events() {
		if v.Event == hooks.PlayEnd {
			ends++
		}
	}
	if ends != 1 {
		t.Errorf("%d ends of the viewer are reported", ends)
	}
}
