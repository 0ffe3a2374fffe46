package rtmp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	sluice "github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

func TestClientPublishesToServer(t *testing.T) {
	s, c, req := linkServed(t, Publish, Options{WindowAckSize: 50_000}, Options{ChunkSize: 1000})
	if req.Kind != Publish || req.App != "live" || req.Stream != "s" || c.StreamID() != req.StreamID {
		t.Errorf("%+v on message stream %d", req, c.StreamID())
	}
	// What the server acknowledges is read here, or it could not go on.
	read := make(chan error, 1)
	go func() {
		for {
			m, err := c.ReadMessage()
			if err != nil {
				read <- err
				return
			}
			m.Release()
		}
	}()
	sent := make(chan error, 1)
	const count = 500
	body := bytes.Repeat([]byte("media"), 600)
	go func() {
		for i := range uint32(count) {
			m := chunkMessage{typ: TypeVideo, streamID: c.StreamID(), time: 40 * i, body: body}
			if err := c.WriteMessage(m.message(c.alloc)); err != nil {
				sent <- err
				return
			}
		}
		sent <- c.Close()
	}()
	for i := range uint32(count) {
		m, err := s.ReadMessage()
		if err != nil {
			t.Fatal(i, err)
		}
		if p := chunkPlain(&m); !chunkSame(p, chunkMessage{TypeVideo, VideoChunkStream, 1, 40 * i, body}) {
			t.Fatalf("message %d is %v", i, p)
		}
	}
	for {
		m, err := s.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		action, err := s.Answer(m)
		m.Release()
		if err != nil {
			t.Fatal(err)
		}
		if action == Close {
			break
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	s.end()
	if err := <-read; !linkEnded(err) {
		t.Error(err)
	}
}

func TestClientPlaysFromServer(t *testing.T) {
	s, c, req := linkServed(t, Play, Options{}, Options{})
	if c.in.ChunkSize() != DefaultChunkSize || s.ChunkSize() != DefaultChunkSize {
		t.Errorf("chunk sizes %d and %d", c.in.ChunkSize(), s.ChunkSize())
	}
	const count = 300
	sent := make(chan error, 1)
	go func() {
		for i := range uint32(count) {
			m := chunkMessage{typ: TypeVideo, streamID: req.StreamID, time: 40 * i, body: make([]byte, 1000*(i%100))}
			if err := s.WriteMessage(m.message(s.alloc)); err != nil {
				sent <- err
				return
			}
		}
		sent <- s.End(req)
	}()
	n := 0
	for ended := false; !ended; {
		m, err := c.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		switch m.Type {
		case TypeVideo:
			if m.Time != uint32(40*n) || m.Payload.Len() != 1000*(n%100) {
				t.Fatalf("message %d: %d bytes at %d", n, m.Payload.Len(), m.Time)
			}
			n++
		case TypeCommandAMF0:
			cmd, err := ParseCommand(m)
			if err != nil {
				t.Fatal(err)
			}
			if _, code, _, ok := cmd.Status(); ok && code == "NetStream.Play.Stop" {
				ended = true
			}
		}
		m.Release()
	}
	if err := <-sent; err != nil || n != count {
		t.Errorf("%d messages, %v", n, err)
	}
}

func TestClientIsRefused(t *testing.T) {
	for kind, code := range map[Kind]string{Publish: PublishBadName, Play: PlayStreamNotFound} {
		s, c := linkPair(t, Options{}, Options{})
		done := make(chan error, 1)
		go func() {
			// The second one is let in.
			req, err := s.ReadRequest()
			if err == nil {
				err = s.Refuse(req, code, "no such luck")
			}
			if err == nil {
				req, err = s.ReadRequest()
			}
			if err == nil && req.Stream != "other" {
				err = fmt.Errorf("asked for %q", req.Stream)
			}
			if err == nil {
				err = s.Accept(req)
			}
			done <- err
		}()
		if err := c.Connect(ConnectOptions{App: "live"}); err != nil {
			t.Fatal(err)
		}
		err := c.begin(kind, "s")
		var status *StatusError
		if !errors.As(err, &status) || *status != (StatusError{"error", code, "no such luck"}) || !strings.Contains(err.Error(), code) {
			t.Errorf("%v: %v", kind, err)
		}
		if err := c.begin(kind, "other"); err != nil {
			t.Errorf("%v again: %v", kind, err)
		}
		if err := <-done; err != nil {
			t.Error("server: ", err)
		}
	}
}

// One connection can publish, end it, and publish and play again.
func TestOneStreamAfterAnother(t *testing.T) {
	s, c, _ := linkServed(t, Publish, Options{}, Options{})
	for _, kind := range []Kind{Publish, Play, Play, Publish} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			req, err := s.ReadRequest()
			if err == nil && req.Kind != kind {
				err = fmt.Errorf("%v, want %v", req.Kind, kind)
			}
			if err == nil {
				err = s.Accept(req)
			}
			done <- err
		}()
		if err := c.begin(kind, "s"); err != nil {
			t.Fatal(kind, err)
		}
		if err := <-done; err != nil {
			t.Fatal("server: ", err)
		}
		if s.in.confined != (kind == Play) {
			t.Errorf("after %v: confined %v", kind, s.in.confined)
		}
	}
}

func TestPauseAndOtherCommands(t *testing.T) {
	s, c, _ := linkServed(t, Play, Options{}, Options{})
	for _, step := range []struct {
		name   string
		args   []amf0.Value
		action Action
		code   string
		err    error
	}{
		{"pause", []amf0.Value{nil, true, 1000.0}, Pause, "NetStream.Pause.Notify", nil},
		{"pause", []amf0.Value{nil, false, 1000.0}, Resume, "NetStream.Unpause.Notify", nil},
		{"seek", []amf0.Value{nil, 0.0}, None, "NetStream.Seek.Failed", nil},
		{"receiveAudio", []amf0.Value{nil, false}, None, "", nil},
		{"deleteStream", []amf0.Value{nil, 1.0}, Close, "", nil},
		{"closeStream", []amf0.Value{nil}, Close, "", nil},
		{"play", []amf0.Value{nil, "s"}, None, "", ErrProtocol},
		{"connect", []amf0.Value{nil}, None, "", ErrProtocol},
	} {

		if err := c.WriteCommand(1, step.name, 0, step.args...); err != nil {
			t.Fatal(err)
		}
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		m, err := s.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		action, err := s.Answer(m)
		m.Release()
		if action != step.action || !errors.Is(err, step.err) {
			t.Errorf("%s: action %d, %v", step.name, action, err)
		}
		if step.code == "" {
			continue
		}
		for {
			m, err := c.ReadMessage()
			if err != nil {
				t.Fatal(err)
			}
			cmd, err := ParseCommand(m)
			isCommand := m.Type == TypeCommandAMF0
			m.Release()
			if !isCommand {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, code, _, _ := cmd.Status(); code != step.code {
				t.Errorf("%s was answered with %q", step.name, code)
			}
			break
		}
	}
}

// A server that sends media before it says that it plays loses none.
func TestMediaBeforePlayStart(t *testing.T) {
	s, c := linkPair(t, Options{}, Options{})
	done := make(chan error, 1)
	go func() {
		req, err := s.ReadRequest()
		if err == nil {
			err = s.WriteMessage(chunkMessage{typ: TypeVideo, streamID: 1, time: 7, body: []byte{1}}.message(s.alloc))
		}
		if err == nil {
			err = s.Accept(req)
		}
		done <- err
	}()
	if err := c.Connect(ConnectOptions{App: "live"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Play("s"); err != nil {
		t.Fatal(err)
	}
	m, err := c.ReadMessage()
	if err != nil || m.Type != TypeVideo || m.Time != 7 {
		t.Errorf("%v at %d, %v", m.Type, m.Time, err)
	}
	m.Release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// What a connection holds when it is given up is given back.
func TestRecycleReleasesWhatWasNotReturned(t *testing.T) {
	a := mem.New(mem.Options{})
	sluicetest.NoLeaks(t, a)
	in := hostileMessage(TypeCommandAMF0, mustCommand(t, "_result", 1, nil, 5.0))
	in = append(in, hostileMessage(TypeVideo, make([]byte, 10))...)
	in = append(in, hostileMessage(TypeAudio, make([]byte, 1000))[:500]...)
	r := &sluice.BufReader{Allocator: a}
	r.Reset(bytes.NewReader(in))
	c := NewConn(r, sluice.NewBufWriter(io.Discard), Options{})
	if err := c.Play("s"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.in.ReadMessage(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	if !c.unread.ok || c.in.unfinished == 0 {
		t.Error("nothing is held")
	}
	c.Recycle()
	c.Recycle()
	r.Recycle()
}

func TestCapabilitiesAreExchanged(t *testing.T) {
	said := Capabilities{
		FourCCs: []string{"hvc1", "av01"}, Video: map[string]uint32{"hvc1": CanDecode},
		CapsEx: CapsReconnect | CapsMultitrack,
	}
	_, c, req := linkServed(t, Publish, Options{}, Options{Capabilities: said})
	if !reflect.DeepEqual(req.Capabilities, said) {
		t.Errorf("the server heard %+v", req.Capabilities)
	}
	want := Capabilities{
		FourCCs: said.FourCCs, Video: map[string]uint32{"*": CanForward}, Audio: map[string]uint32{"*": CanForward},
		CapsEx: CapsMultitrack,
	}
	if got := c.PeerCapabilities(); !reflect.DeepEqual(got, want) {
		t.Errorf("the client heard %+v, want %+v", got, want)
	}
}

// A client over a feed can be called again after every byte.
func TestClientOverAFeed(t *testing.T) {
	server := handshakeNew(Options{})
	client := handshakeNew(Options{})
	done := 0
	steps := []func() error{
		client.ClientHandshake,
		func() error { return client.Connect(ConnectOptions{App: "live"}) },
		func() error { return client.Publish("s") },
	}
	var req *Request
	serverSteps := []func() error{
		server.ServerHandshake,
		func() (err error) { req, err = server.ReadRequest(); return err },
		func() error { return server.Accept(req) },
	}
	served := 0
	advance := func(steps []func() error, done *int) {
		for *done < len(steps) {
			err := steps[*done]()
			if errors.Is(err, sluice.ErrShort) {
				return
			}
			if err != nil {
				t.Fatal(*done, err)
			}
			*done++
		}
	}
	for range 20 {
		advance(steps, &done)
		for _, c := range client.sent() {
			if err := server.r.FeedCopy([]byte{c}); err != nil {
				t.Fatal(err)
			}
			advance(serverSteps, &served)
		}
		for _, c := range server.sent() {
			if err := client.r.FeedCopy([]byte{c}); err != nil {
				t.Fatal(err)
			}
			advance(steps, &done)
		}
	}
	if done != len(steps) || served != len(serverSteps) || req.Stream != "s" || client.StreamID() != 1 {
		t.Errorf("client at step %d, server at %d, request %+v", done, served, req)
	}
}

func TestServerThatNeverAnswers(t *testing.T) {
	var in []byte
	for range 1000 {
		in = append(in, hostileMessage(TypeCommandAMF0, mustCommand(t, "onBWDone", 0))...)
	}
	c := NewConn(sluice.NewBufReaderBytes(in), sluice.NewBufWriter(io.Discard), Options{})
	if err := c.Connect(ConnectOptions{App: "live"}); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
}

func TestServersAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		p    []byte
		code string
	}{
		"refused":               {mustCommand(t, "_error", 1, nil, chunkObject("level", "error", "code", "NetConnection.Connect.Rejected")), "NetConnection.Connect.Rejected"},
		"refused without words": {mustCommand(t, "_error", 1), ""},
		"closed":                {mustCommand(t, "close", 0, nil), "NetConnection.Connect.Closed"},
	} {
		conn := NewConn(sluice.NewBufReaderBytes(hostileMessage(TypeCommandAMF0, c.p)), sluice.NewBufWriter(io.Discard), Options{})
		var status *StatusError
		if err := conn.Connect(ConnectOptions{App: "live"}); !errors.As(err, &status) || status.Code != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A writer that takes the place of the connection's own gets whole messages.
func TestReplacedWriterGetsWholeMessages(t *testing.T) {
	s, c, req := linkServed(t, Play, Options{}, Options{})
	var writes [][]byte
	if err := s.ReplaceWriter(writerFunc(func(p []byte) (int, error) {
		writes = append(writes, bytes.Clone(p))
		return len(p), nil
	})); err != nil {
		t.Fatal(err)
	}
	for i := range uint32(5) {
		if err := c.Ping(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.WriteCommand(1, "pause", 0, nil, true); err != nil {
		t.Fatal(err)
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	m, err := s.ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	if action, err := s.Answer(m); action != Pause || err != nil {
		t.Fatal(action, err)
	}
	m.Release()
	if err := s.End(req); err != nil {
		t.Fatal(err)
	}
	reader := sluice.NewBufReaderFed()
	cr := NewChunkReader(reader, Limits{})
	cr.chunkSize = DefaultChunkSize
	cr.streams = c.in.streams // what the earlier headers said
	n := 0
	for _, p := range writes {
		if err := reader.FeedCopy(p); err != nil {
			t.Fatal(err)
		}
		got, err := chunkReadAll(cr)
		n += len(got)
		if !errors.Is(err, sluice.ErrShort) || reader.Buffered() > 0 || cr.cur != nil || cr.open > 0 {
			t.Errorf("a write of %d bytes does not end with a message: %v", len(p), err)
		}
	}
	if n != 5+1+3 {
		t.Errorf("%d messages in %d writes", n, len(writes))
	}
}

// Both sides may write at the same time as they read.
func TestRepliesAndMediaAtOnce(t *testing.T) {
	s, c, req := linkServed(t, Play, Options{}, Options{WindowAckSize: leastWindow})
	const count = 2000
	sent := make(chan error, 1)
	go func() {
		for i := range uint32(count) {
			if err := s.WriteMessage(Message{Type: TypeAudio, StreamID: req.StreamID, Time: i, Payload: mem.Wrap(make([]byte, 100), nil)}); err != nil {
				sent <- err
				return
			}
			if i%10 == 0 {
				if err := s.Flush(); err != nil {
					sent <- err
					return
				}
			}
		}
		sent <- s.Flush()
	}()
	serverRead := make(chan error, 1)
	go func() {
		_, err := s.ReadMessage()
		serverRead <- err
	}()
	for n := uint32(0); n < count; {
		if n%100 == 0 {
			if err := c.Ping(n); err != nil {
				t.Fatal(err)
			}
		}
		m, err := c.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		if m.Type == TypeAudio {
			if m.Time != n {
				t.Fatalf("message at %d, want %d", m.Time, n)
			}
			n++
		}
		m.Release()
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	c.conn.Close()
	if err := <-serverRead; !linkEnded(err) {
		t.Error(err)
	}
}
