package edge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvwalk"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
	"github.com/sluice-go/sluice/sluicetest"
)

const eventTimeout = 2 * time.Minute

// local is a server that streams are pulled for.
type local struct {
	viewers atomic.Int64
	busy    error // of Publish

	mu    sync.Mutex
	sinks []*sink
}

// sink keeps what was published.
type sink struct {
	mu     sync.Mutex
	frames []frame
	err    error
	closed int
}

type frame struct {
	Type flv.TagType
	Time uint32
	Body string
}

func (l *local) Viewers(string) int { return int(l.viewers.Load()) }

func (l *local) Publish(stream, origin string) (Sink, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy != nil {
		return nil, l.busy
	}
	s := &sink{}
	l.sinks = append(l.sinks, s)
	return s, nil
}

// published returns the sinks that there were.
func (l *local) published() []*sink {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]*sink(nil), l.sinks...)
}

func (s *sink) Publish(f live.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frames = append(s.frames, frame{f.Type, f.Time, string(f.Payload.Bytes())})
	f.Payload.Release()
	return s.err
}

func (s *sink) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
}

// got returns the frames so far, and whether there will be more.
func (s *sink) got() (frames []frame, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]frame(nil), s.frames...), s.closed > 0
}

// fail makes the sink refuse frames.
func (s *sink) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// newPuller returns a puller that is fast, and checks in the end that nothing
// of it is left.
func newPuller(t *testing.T, address string, l *local, change func(*Options)) *Puller {
	t.Helper()
	origin, err := ParseOrigin(address)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Origins: []*Origin{origin}, Local: l, Logger: slog.New(slog.DiscardHandler),
		Linger: 50 * time.Millisecond, Retry: time.Millisecond, RetryMost: 5 * time.Millisecond, Refuse: time.Nanosecond,
	}
	if change != nil {
		change(&o)
	}
	before := runtime.NumGoroutine()
	p := New(o)
	t.Cleanup(func() {
		p.Close()
		if got := p.Stats().Active; got != 0 {
			t.Errorf("%d pulls are left", got)
		}
		until(t, fmt.Sprintf("there are no more than %d goroutines", before), func() bool { return runtime.NumGoroutine() <= before })
	})
	return p
}

// until waits until what holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(eventTimeout); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
		<-time.After(time.Millisecond)
	}
}

func pull(t *testing.T, p *Puller, stream string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), eventTimeout)
	defer cancel()
	return p.Pull(ctx, stream, nil)
}

// source is an origin of one stream, live/s: what a test makes it send.
type source struct {
	asked   atomic.Int64 // connections that asked for a stream
	open    atomic.Int64 // of them, those that are
	query   atomic.Value // string, of the latest
	path    atomic.Value // Path
	answer  func(n int64) string
	deliver func(n int64, out *output)
}

// What answer may return beside the empty string.
const (
	missing = "missing"
	denied  = "denied"
	broken  = "broken" // neither of the two: try again
)

// output is a connection of a source, in either protocol.
type output struct {
	send func(frame) error
	raw  func([]byte) error // sends bytes
	gone <-chan struct{}    // closed when the puller has hung up
}

// forever sends frames until the puller has gone.
func forever(_ int64, out *output) {
	for i := uint32(0); ; i++ {
		select {
		case <-out.gone:
			return
		case <-time.After(time.Millisecond):
			if out.send(frame{flv.TagVideo, i * 40, fmt.Sprintf("\x17\x01\x00\x00\x00%d", i)}) != nil {
				return
			}
		}
	}
}

// serveHTTP runs a source over HTTP and returns its address.
func (s *source) serveHTTP(t *testing.T) string {
	t.Helper()
	sluicetest.NoLeaks(t, nil) // looks when the server has ended
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := s.asked.Add(1)
		s.open.Add(1)
		defer s.open.Add(-1)
		s.query.Store(r.URL.RawQuery)
		s.path.Store(PathOfHeader(r.Header.Values("Via")))
		if r.URL.Path != "/live/s.flv" {
			http.NotFound(w, r)
			return
		}
		switch s.answer(n) {
		case missing:
			http.NotFound(w, r)
			return
		case denied:
			http.Error(w, "no", http.StatusForbidden)
			return
		case broken:
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		w.Write(flvwalk.AppendHeader(nil, 5))
		flush := http.NewResponseController(w).Flush
		flush()
		raw := func(p []byte) error {
			if _, err := w.Write(p); err != nil {
				return err
			}
			return flush()
		}
		s.deliver(n, &output{gone: r.Context().Done(), raw: raw, send: func(f frame) error {
			return raw(flvwalk.AppendTag(nil, flvwalk.Tag{Type: byte(f.Type), Time: f.Time, Data: []byte(f.Body)}))
		}})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// serveRTMP runs a source over RTMP and returns its address.
func (s *source) serveRTMP(t *testing.T) string {
	t.Helper()
	sluicetest.NoLeaks(t, nil) // looks when the server has ended
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				end := context.AfterFunc(ctx, func() { conn.Close() })
				defer end()
				if err := s.session(conn); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
					t.Logf("origin: %v", err)
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		stop()
		running.Wait()
	})
	return "rtmp://" + l.Addr().String()
}

func (s *source) session(conn net.Conn) error {
	r, w := sluice.NewBufReader(conn), sluice.NewBufWriter(conn)
	defer r.Recycle()
	defer w.Recycle()
	c := rtmp.NewConn(r, w, rtmp.Options{})
	defer c.Recycle()
	if err := c.ServerHandshake(); err != nil {
		return err
	}
	req, err := c.ReadRequest()
	if err != nil {
		return err
	}
	n := s.asked.Add(1)
	s.open.Add(1)
	defer s.open.Add(-1)
	s.query.Store(req.Query.Encode())
	s.path.Store(PathOfFlashVer(req.FlashVer))
	answer := s.answer(n)
	if req.App != "live" || req.Stream != "s" {
		answer = missing
	}
	switch answer {
	case missing:
		return c.Refuse(req, rtmp.PlayStreamNotFound, "no such stream")
	case denied:
		return c.Refuse(req, rtmp.PlayFailed, "the token is wrong")
	case broken:
		return nil
	}
	if err := c.Accept(req); err != nil {
		return err
	}
	gone := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(gone)
		for {
			m, err := c.ReadMessage()
			if err != nil {
				return
			}
			m.Release()
		}
	})
	raw := func(p []byte) error {
		_, err := conn.Write(p)
		return err
	}
	s.deliver(n, &output{gone: gone, raw: raw, send: func(f frame) error {
		err := c.WriteMessage(rtmp.Message{Type: rtmp.MessageType(f.Type), StreamID: req.StreamID, Time: f.Time, Payload: mem.Wrap([]byte(f.Body), nil)})
		if err != nil {
			return err
		}
		return c.Flush()
	}})
	err = c.End(req)
	conn.Close()
	reading.Wait()
	return err
}

// ways are the protocols of an origin.
func ways(t *testing.T, f func(t *testing.T, serve func(*source, *testing.T) string)) {
	t.Run("http", func(t *testing.T) { f(t, (*source).serveHTTP) })
	t.Run("rtmp", func(t *testing.T) { f(t, (*source).serveRTMP) })
}

func yes(int64) string { return "" }
