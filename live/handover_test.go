package live

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"

	"io"
	"math/rand/v2"
	"net"

	"runtime"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
)

// tcpPair is a connection with small buffers, so that writes are cut anywhere.
func tcpPair(t *testing.T) (server, client *net.TCPConn) {
	t.Helper()
	server, client = pair(t)
	server.SetWriteBuffer(8 << 10)
	client.SetReadBuffer(8 << 10)
	return server, client
}

// again is the same connection, as another process has it.
func again(t *testing.T, c net.Conn) net.Conn {
	t.Helper()
	f, err := c.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	other, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	return other
}

// body is a frame's payload, by its number.
func body(i int) []byte {
	p := bytes.Repeat([]byte{byte(i)}, 300+i%7*900)
	copy(p, []byte{0x27, 1, 0, 0, 0})
	if i%10 == 0 {
		p[0] = 0x17
	}
	binary.BigEndian.PutUint32(p[5:], uint32(i))
	return p
}

func TestHandoverOfStreamsAndViewers(t *testing.T) {
	if !direct || runtime.GOOS == "windows" {
		t.Skip("viewers are given away only where loops send to sockets")
	}
	const frames, every = 600, 97
	options := HubOptions{Stream: StreamOptions{Grace: time.Minute, Ahead: time.Hour, Backlog: time.Hour}}
	hub, w := NewHub(options), NewWriter(WriterOptions{Lag: time.Hour})
	p, err := hub.Publish("a/b", PublishOptions{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	type client struct {
		form Form
		v    *Viewer
		got  chan []byte
	}
	var clients []*client
	for i := range 8 {
		server, peer := tcpPair(t)
		c := &client{form: []Form{FormFLV, FormRTMP, FormWebSocket, FormChunked}[i%4], got: make(chan []byte, 1)}
		o := ViewerOptions{Form: c.form, FromStart: true, Prelude: []byte("prelude"), Trailer: []byte("trailer"), Merge: time.Duration(i) * time.Millisecond}
		if c.v, err = w.Add(server, p.Stream(), o); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
		go func() {
			var all []byte
			var room [3000]byte
			for {
				n, err := peer.Read(room[:1+rand.IntN(len(room))])
				all = append(all, room[:n]...)
				if err != nil {
					if err != io.EOF {
						t.Errorf("%v after %d bytes: %v", c.form, len(all), err)
					}
					c.got <- all
					return
				}
			}
		}()
	}
	for i := range frames {
		if i%every == every-1 {
			thaw := w.Freeze()
			next, nextHub := NewWriter(WriterOptions{Lag: time.Hour}), NewHub(options)
			hold := next.Freeze()
			st, tags, ok := p.Stream().State()
			if !ok {
				t.Fatal("no state")
			}
			text, err := json.Marshal(st)
			if err != nil {
				t.Fatal(err)
			}
			st = StreamState{}
			if err := json.Unmarshal(text, &st); err != nil {
				t.Fatal(err)
			}
			s, np, err := nextHub.Adopt(st, tags)
			if err != nil || np == nil {
				t.Fatalf("%v %v", np, err)
			}
			for n, c := range clients {
				st, ok := c.v.State()
				if !ok {
					t.Fatalf("viewer %d: no state", n)
				}
				conn := again(t, c.v.link.conn)
				v := c.v
				if c.v, err = next.Adopt(conn, s, ViewerOptions{Trailer: []byte("trailer")}, st); err != nil {
					t.Fatal(err)
				}
				w.Leave(v)
			}
			thaw()
			hub.Close()
			w.Close()
			hold()
			hub, w, p = nextHub, next, np
		}
		if err := p.Publish(Frame{Type: flv.TagVideo, Time: uint32(40 * i), Payload: mem.Wrap(body(i), nil)}); err != nil {
			t.Fatal(err)
		}
	}
	hub.Close()
	for n, c := range clients {
		select {
		case all := <-c.got:
			if got := numbersOf(all); len(got) != frames || got[frames-1] != frames-1 {
				t.Errorf("viewer %d, %v: %d frames in %d bytes", n, c.form, len(got), len(all))
			}
			if c.form == FormFLV {
				want := append([]byte("prelude"), flv.Header{Audio: true, Video: true}.Append(nil)...)
				want = append(want, 0, 0, 0, 0)
				for i := range frames {
					b := body(i)
					want = flv.TagHeader{Type: flv.TagVideo, Size: len(b), Time: uint32(40 * i)}.Append(want)
					want = binary.BigEndian.AppendUint32(append(want, b...), uint32(flv.TagHeaderLen+len(b)))
				}
				if want = append(want, "trailer"...); !bytes.Equal(all, want) {
					t.Errorf("viewer %d: %d bytes, want %d", n, len(all), len(want))
				}
			}
		case <-time.After(time.Minute):
			t.Fatalf("viewer %d: no end", n)
		}
	}
	w.Close()
}

// numbersOf returns the frames in what a viewer was sent: each begins as body makes it, and the
// first is followed by nothing else but the next in order.
func numbersOf(p []byte) (list []int) {
	for {
		want := body(len(list))[:9]
		at := bytes.Index(p, want)
		if at < 0 {
			return list
		}
		list = append(list, len(list))
		p = p[at+9:]
	}
}

func TestStatesThatCannotBeRight(t *testing.T) {
	hub := NewHub(HubOptions{})
	p, err := hub.Publish("a/b", PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if err := p.Publish(Frame{Type: flv.TagVideo, Time: uint32(40 * i), Payload: mem.Wrap(body(i), nil)}); err != nil {
			t.Fatal(err)
		}
	}
	good, tags, _ := p.Stream().State()
	if _, _, err := hub.Adopt(good, tags); !errors.Is(err, ErrBusy) {
		t.Errorf("a stream that is there: %v", err)
	}
	hub.Close()
	for i, change := range []func(st *StreamState, tags *[]byte){
		func(st *StreamState, _ *[]byte) { st.Came = st.Came[1:] },
		func(st *StreamState, _ *[]byte) { st.Kinds, st.Came = st.Kinds[1:], st.Came[1:] },
		func(st *StreamState, _ *[]byte) { st.Marks = make([]Mark, 3) },
		func(st *StreamState, _ *[]byte) { st.First = 1 << 63 },
		func(st *StreamState, _ *[]byte) { st.Headers = make([]HeaderState, maxHeaders+1) },
		func(_ *StreamState, tags *[]byte) { *tags = nil },
		func(_ *StreamState, tags *[]byte) { *tags = (*tags)[:len(*tags)-1] },
		func(_ *StreamState, tags *[]byte) { *tags = append(bytes.Clone(*tags), 0) },
		func(_ *StreamState, tags *[]byte) { *tags = (*tags)[1:] },
	} {
		st, b := good, tags
		change(&st, &b)
		if _, _, err := NewHub(HubOptions{}).Adopt(st, b); !errors.Is(err, ErrState) {
			t.Errorf("%d: %v", i, err)
		}
	}
	h := NewHub(HubOptions{})
	s, _, err := h.Adopt(good, tags)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWriter(WriterOptions{})
	defer w.Close()
	server, _ := tcpPair(t)
	for _, st := range []ViewerState{{Form: FormRaw}, {Merge: -1}, {Begun: true, Seq: 1000}, {Control: make([]byte, 1<<20)}} {
		if _, err := w.Adopt(server, s, ViewerOptions{}, st); !errors.Is(err, ErrState) {
			t.Errorf("%+v: %v", st.Form, err)
		}
	}
	h.Close()
}
