package live

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/testcert"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

func TestViewersGetWhatWasPublished(t *testing.T) {
	for _, merge := range []time.Duration{0, 30 * time.Millisecond} {
		t.Run(merge.String(), func(t *testing.T) {
			alloc := mem.New(mem.Options{Name: t.Name()})
			sluicetest.NoLeaks(t, alloc)
			tags := clipTags(t)
			h := NewHub(HubOptions{Stream: StreamOptions{Allocator: alloc}})
			p := mustPublish(t, h, "live/s", PublishOptions{})
			w := newWriter(t, WriterOptions{Loops: 2, Merge: merge})
			var wg sync.WaitGroup
			for range 5 {
				s, c := pair(t)
				add(t, w, s, p.Stream(), ViewerOptions{Merge: -1, FromStart: true})
				wg.Add(1)
				go func() {
					defer wg.Done()
					got := fileTags(t, c)
					equalTags(t, got, tags)
				}()
			}
			send(t, p, tags...)
			p.Close()
			wg.Wait()
			h.Close()
			w.Close()
		})
	}
}

func TestTLSViewer(t *testing.T) { viewerGetsAll(t, tlsPair, true) }

// viewerGetsAll has a viewer over TLS get all of a stream with what stands before and behind
// it. waits says that the viewer has a goroutine, since the loop does not write to it.
func viewerGetsAll(t *testing.T, over func(testing.TB, net.Conn, net.Conn) (*tls.Conn, *tls.Conn), waits bool) {
	t.Helper()
	alloc := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, alloc)
	tags := clipTags(t)
	h := NewHub(HubOptions{Stream: StreamOptions{Allocator: alloc}})
	p := mustPublish(t, h, "live/s", PublishOptions{})
	w := newWriter(t, WriterOptions{})
	s, c := pair(t)
	server, client := over(t, s, c)
	v := add(t, w, server, p.Stream(), ViewerOptions{FromStart: true, Prelude: []byte("hello\n"), Trailer: []byte("bye")})
	if v.link.waits != waits {
		t.Fatalf("the viewer has a goroutine: %v", v.link.waits)
	}
	send(t, p, tags...)
	p.Close()
	b, err := io.ReadAll(client) // io.EOF is the end of TLS, another is that of the connection
	if err != nil {
		t.Fatal(err)
	}
	if string(b[:6]) != "hello\n" || string(b[len(b)-3:]) != "bye" {
		t.Fatalf("begins with %q and ends with %q", b[:6], b[len(b)-3:])
	}
	equalTags(t, fileOf(t, b[6:len(b)-3]), tags)
	waitFor(t, v.Done(), "end of the viewer")
	if !errors.Is(v.Err(), ErrEnded) {
		t.Fatalf("closed for %v", v.Err())
	}
	w.Close()
}

func TestLateJoinerBeginsAtTheKeyFrame(t *testing.T) {
	tags := clipTags(t)
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "live/s", PublishOptions{})
	w := newWriter(t, WriterOptions{})
	cut := len(tags) * 2 / 3
	send(t, p, tags[:cut]...)
	key := 0
	for i := range cut {
		if tags[i].key() {
			key = i
		}
	}
	s, c := pair(t)
	v := add(t, w, s, p.Stream(), ViewerOptions{})
	var first [13]byte
	if _, err := io.ReadFull(c, first[:]); err != nil {
		t.Fatal(err)
	}
	send(t, p, tags[cut:]...)
	p.Close()
	got := fileTags(t, io.MultiReader(bytes.NewReader(first[:]), c))
	waitFor(t, v.Done(), "end of the viewer")
	var set []tag
	for _, g := range tags[:key] {
		if g.typ == 18 || !g.key() && len(g.body) < 60 && g.body[1] == 0 {
			at := tags[key].time
			if g.typ == 18 {
				at = 0
			}
			set = append(set, tag{g.typ, at, g.body})
		}
	}
	if len(set) != 3 {
		t.Fatalf("the clip has %d headers", len(set))
	}
	equalTags(t, got, append(set, tags[key:]...))
}

func tlsPair(t testing.TB, s, c net.Conn) (*tls.Conn, *tls.Conn) {
	t.Helper()
	server := tls.Server(s, testcert.Server(t))
	client := tls.Client(c, testcert.Client(t))
	done := make(chan error, 1)
	go func() { done <- server.Handshake() }()
	if err := client.Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return server, client
}

// A handshake of TLS waits for the peer's bytes. A peer that sends none holds up no end.
func TestTLSViewerThatNeverShakesHands(t *testing.T) {
	for name, o := range map[string]struct {
		wire  bool
		stall time.Duration // 0: as usual
		end   func(w *Writer, v *Viewer)
		want  error
	}{
		"stalls":                {stall: 50 * time.Millisecond, want: ErrStalled},
		"stalls, over a Wire":   {wire: true, stall: 50 * time.Millisecond, want: ErrStalled},
		"is closed":             {end: func(_ *Writer, v *Viewer) { v.Close(nil) }, want: ErrClosed},
		"its writer is closed":  {end: func(w *Writer, _ *Viewer) { w.Close() }, want: ErrClosed},
		"is closed over a Wire": {wire: true, end: func(_ *Writer, v *Viewer) { v.Close(nil) }, want: ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			h := NewHub(HubOptions{})
			defer h.Close()
			p := mustPublish(t, h, "s", PublishOptions{})
			w := newWriter(t, WriterOptions{Stall: o.stall})
			s, _ := pair(t)
			var below net.Conn = s
			if o.wire {
				below = NewWire(s)
			}
			v := add(t, w, tls.Server(below, testcert.Server(t)), p.Stream(), ViewerOptions{FromStart: true})
			send(t, p, video(0, true, 1000))
			if o.end != nil {
				go o.end(w, v)
			}
			select {
			case <-v.Done():
			case <-time.After(5 * time.Second):
				s.Close() // the writer can be closed then
				t.Fatal("the viewer has not ended")
			}
			if !errors.Is(v.Err(), o.want) {
				t.Errorf("%v, want %v", v.Err(), o.want)
			}
		})
	}
}

// TestAddWithoutAConnectionPanicsThere has the caller's bug end the program in the caller's
// goroutine, and not in a loop when the first frame comes.
func TestAddWithoutAConnectionPanicsThere(t *testing.T) {
	h := NewHub(HubOptions{})
	t.Cleanup(h.Close)
	s := mustPublish(t, h, "live/s", PublishOptions{}).Stream()
	w := newWriter(t, WriterOptions{Loops: 1})
	conn, _ := pair(t)
	for name, add := range map[string]func(){
		"connection": func() { _, _ = w.Add(nil, s, ViewerOptions{}) },
		"stream":     func() { _, _ = w.Add(conn, nil, ViewerOptions{}) },
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); text != "live: Add without a connection or a stream" {
					t.Errorf("without a %s: panicked with %q", name, text)
				}
			}()
			add()
		}()
	}
}
