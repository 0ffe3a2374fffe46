package relay

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/ingest"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
	"github.com/sluice-go/sluice/internal/testcert"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
	"github.com/sluice-go/sluice/sluicetest"
)

// rtmpTimeout is how long these tests wait for what has to come.
const rtmpTimeout = relayWait

// rtmpServe runs a server on ports of its own until the test ends, and then
// looks for references and goroutines that are left. It may be called several
// times in a test.
func rtmpServe(t *testing.T, change func(*relayConfig)) *Server {
	t.Helper()
	return rtmpServeWith(t, change, nil)
}

// rtmpChecked are the tests in whose end it is looked for what is left.
var rtmpChecked sync.Map

// rtmpServeWith calls prepare before the server listens.
func rtmpServeWith(t *testing.T, change func(*relayConfig), prepare func(*Server)) *Server {
	t.Helper()
	if _, again := rtmpChecked.LoadOrStore(t, true); !again {
		sluicetest.NoLeaks(t, nil)
		goroutines := runtime.NumGoroutine()
		t.Cleanup(func() { rtmpSettle(t, goroutines) })
	}
	c := relayConfig{Config: config.Default(), times: calm}
	c.RTMP, c.HTTP, c.RTMPS, c.RTSP, c.WebRTC, c.SRT = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", "off", "off", "off"
	c.Grace, c.Merge = 0, 0
	c.Cert, c.Key = testcert.Files(t)
	if change != nil {
		change(&c)
	}
	s, err := c.server(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if prepare != nil {
		prepare(s)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		// Whether a listener is closed first by the server or by net/http is
		// left to chance.
		if err := <-served; err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
	return s
}

// rtmpSettle waits until there are no more goroutines than before.
func rtmpSettle(t *testing.T, before int) {
	t.Helper()
	for end := time.Now().Add(rtmpTimeout); runtime.NumGoroutine() > before; {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Errorf("%d goroutines, there were %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
			return
		}
		<-time.After(time.Millisecond)
	}
}

// rtmpUntil waits until what holds.
func rtmpUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(rtmpTimeout); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
		<-time.After(time.Millisecond)
	}
}

// rtmpClient is one end of a connection.
type rtmpClient struct {
	conn net.Conn
	r    *sluice.BufReader
	w    *sluice.BufWriter
	c    *rtmp.Conn
}

// rtmpDial connects to one of the server's listeners, rtmp or rtmps, with an
// application.
func rtmpDial(t *testing.T, s *Server, setting, app string) *rtmpClient {
	t.Helper()
	x := rtmpRaw(t, s, setting)
	if err := x.c.ClientHandshake(); err != nil {
		t.Fatal(err)
	}
	if err := x.c.Connect(rtmp.ConnectOptions{App: app, TCURL: "rtmp://127.0.0.1/" + app}); err != nil {
		t.Fatal(err)
	}
	return x
}

// rtmpRaw connects and says nothing.
func rtmpRaw(t *testing.T, s *Server, setting string) *rtmpClient {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addresses()[setting])
	if err != nil {
		t.Fatal(err)
	}
	if setting == "rtmps" {
		conn = tls.Client(conn, testcert.Client(t))
	}
	return rtmpClientOn(t, conn)
}

// rtmpClientOn is a client on a connection.
func rtmpClientOn(t *testing.T, conn net.Conn) *rtmpClient {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(rtmpTimeout)); err != nil {
		t.Fatal(err)
	}
	x := &rtmpClient{conn: conn, r: sluice.NewBufReader(conn), w: sluice.NewBufWriter(conn)}
	x.c = rtmp.NewConn(x.r, x.w, rtmp.Options{})
	t.Cleanup(x.close)
	return x
}

// close closes the connection without a word.
func (x *rtmpClient) close() {
	x.conn.Close()
	x.c.Recycle()
	x.r.Recycle()
	x.w.Recycle()
}

// rtmpFrame is a frame as the tests compare it.
type rtmpFrame struct {
	Type flv.TagType
	Time uint32
	Body string
}

// rtmpClip is what is in the clip.
var rtmpClip = sync.OnceValue(func() []rtmpFrame {
	d := flv.NewDecoder(sluice.NewBufReaderBytes(flvclip.File))
	if _, err := d.ReadHeader(); err != nil {
		panic(err)
	}
	var list []rtmpFrame
	for {
		tag, err := d.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			panic(err)
		}
		list = append(list, rtmpFrame{tag.Type, tag.Time, string(tag.Payload.Bytes())})
		tag.Release()
	}
})

// rtmpPush is a client that publishes.
func rtmpPush(t *testing.T, s *Server, setting, app, name string) *rtmpClient {
	t.Helper()
	x := rtmpDial(t, s, setting, app)
	if err := x.c.Publish(name); err != nil {
		t.Fatal(err)
	}
	return x
}

// send writes frames, script data as encoders do, and flushes now and then.
func (x *rtmpClient) send(frames []rtmpFrame) error {
	for i, f := range frames {
		body := f.Body
		if f.Type == flv.TagScript {
			body = "\x02\x00\x0d@setDataFrame" + body
		}
		err := x.c.WriteMessage(rtmp.Message{
			Type: rtmp.MessageType(f.Type), StreamID: x.c.StreamID(), Time: f.Time, Payload: mem.Wrap([]byte(body), nil),
		})
		if err != nil {
			return err
		}
		if i%10 == 9 {
			if err := x.c.Flush(); err != nil {
				return err
			}
		}
	}
	return x.c.Flush()
}

// receive returns frames until the stream or the connection ends, or there are
// as many as wanted, and how it ended: the code of the last status.
func (x *rtmpClient) receive(wanted int) (frames []rtmpFrame, code string, err error) {
	for len(frames) < wanted {
		m, err := x.c.ReadMessage()
		if err != nil {
			return frames, code, err
		}
		if m.Type == rtmp.TypeCommandAMF0 {
			cmd, err := rtmp.ParseCommand(m)
			m.Release()
			if err != nil {
				return frames, code, err
			}
			_, code, _, _ = cmd.Status()
			continue
		}
		f, ok := ingest.Frame(m)
		if !ok {
			continue
		}
		frames = append(frames, rtmpFrame{f.Type, f.Time, string(f.Payload.Bytes())})
		f.Payload.Release()
	}
	return frames, code, nil
}

// status passes over frames until the server says something, and returns its
// code.
func (x *rtmpClient) status() (string, error) {
	for {
		m, err := x.c.ReadMessage()
		if err != nil {
			return "", err
		}
		cmd, err := rtmp.ParseCommand(m)
		m.Release()
		if err != nil {
			continue // a frame
		}
		if _, code, _, ok := cmd.Status(); ok {
			return code, nil
		}
	}
}

// rtmpCompare compares frames.
func rtmpCompare(t *testing.T, who string, got, want []rtmpFrame) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("%s: frame %d of %d is missing: %v at %d", who, i, len(want), want[i].Type, want[i].Time)
		case i >= len(want):
			t.Errorf("%s: frame %d is one too many: %v at %d", who, i, got[i].Type, got[i].Time)
		case got[i] != want[i]:
			t.Errorf("%s: frame %d is %v at %d with %d bytes, want %v at %d with %d", who, i,
				got[i].Type, got[i].Time, len(got[i].Body), want[i].Type, want[i].Time, len(want[i].Body))
		default:
			continue
		}
		return
	}
}

// rtmpRefusal is the code of a refusal, or why err is none.
func rtmpRefusal(err error) string {
	var s *rtmp.StatusError
	if errors.As(err, &s) {
		return s.Code
	}
	if err == nil {
		return "accepted"
	}
	return err.Error()
}

// rtmpViewers is how many watch a stream.
func rtmpViewers(s *Server, name string) int {
	st, ok := s.host.Hub.Stream(name)
	if !ok {
		return 0
	}
	return st.Stats().Viewers
}

// rtmpCut is a name for a sub-test.
func rtmpCut(s string) string { return strings.ReplaceAll(s, "/", "_") }
