package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
	"github.com/sluice-go/sluice/sluicetest"
)

// atMost bounds every wait for something that has to happen.
const atMost = 30 * time.Second

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	os.Exit(m.Run())
}

// start runs a server until stop, or until the test ends.
func start(t *testing.T) (addr string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, l)
}

func serveOn(t *testing.T, l net.Listener) (addr string, stop func()) {
	t.Helper()
	memory := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, memory)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		serve(ctx, l, memory, 8<<20)
		close(done)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(atMost):
			t.Error("the server does not end")
		}
	})
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

type peer struct {
	*rtmp.Conn
	conn net.Conn
}

// dial connects to the application "app".
func dial(t *testing.T, addr string) peer {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, atMost)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(atMost)); err != nil {
		t.Fatal(err)
	}
	c := rtmp.NewConn(sluice.NewBufReader(conn), sluice.NewBufWriter(conn), rtmp.Options{})
	if err := errors.Join(c.ClientHandshake(), c.Connect(rtmp.ConnectOptions{App: "app"})); err != nil {
		t.Fatal(err)
	}
	return peer{c, conn}
}

var (
	header = []byte{0x17, 0, 0, 0, 0, 1, 0x64, 0, 0x1f, 0xff, 0xe0, 0}
	key    = append([]byte{0x17, 1, 0, 0, 0}, make([]byte, 50_000)...)
	other  = []byte{0x27, 1, 0, 0, 0, 7, 7, 7}
)

func send(t *testing.T, c peer, time uint32, body []byte) {
	t.Helper()
	m := rtmp.Message{Type: rtmp.TypeVideo, StreamID: c.StreamID(), Time: time, Payload: mem.Wrap(body, nil)}
	if err := errors.Join(c.WriteMessage(m), c.Flush()); err != nil {
		t.Fatal(err)
	}
}

// next returns the body of the next message of that type.
func next(t *testing.T, c peer, typ rtmp.MessageType) []byte {
	t.Helper()
	for {
		m, err := c.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		if m.Type == typ {
			defer m.Release()
			return bytes.Clone(m.Payload.Bytes())
		}
		m.Release()
	}
}

func TestPlayersGetTheStreamAndItsEnd(t *testing.T) {
	addr, stop := start(t)
	for _, ends := range []string{"the publisher", "the server"} {
		publisher := dial(t, addr)
		if err := publisher.Publish("s"); err != nil {
			t.Fatal(err)
		}
		send(t, publisher, 0, header)
		send(t, publisher, 0, key)
		send(t, publisher, 40, other)
		var players []peer
		for range 5 {
			p := dial(t, addr)
			if err := p.Play("s"); err != nil {
				t.Fatal(err)
			}
			players = append(players, p)
			for _, want := range [][]byte{header, key, other} {
				if got := next(t, p, rtmp.TypeVideo); !bytes.Equal(got, want) {
					t.Fatalf("got %d bytes, want %d", len(got), len(want))
				}
			}
		}
		if ends == "the publisher" {
			if err := publisher.Close(); err != nil {
				t.Fatal(err)
			}
		} else {
			go stop()
		}
		for _, p := range players {
			if body := next(t, p, rtmp.TypeCommandAMF0); !bytes.Contains(body, []byte("NetStream.Play.UnpublishNotify")) {
				t.Errorf("%s ends: players get %q", ends, body)
			}
			if _, err := p.ReadMessage(); err != io.EOF {
				t.Errorf("%s ends: then %v", ends, err)
			}
			p.conn.Close() // the server waits for that, for a moment
		}
	}
}

func TestWhatIsNotThereOrTakenIsRefused(t *testing.T) {
	addr, _ := start(t)
	var refused *rtmp.StatusError
	if err := dial(t, addr).Play("s"); !errors.As(err, &refused) || refused.Code != rtmp.PlayStreamNotFound {
		t.Errorf("playing: %v", err)
	}
	if err := dial(t, addr).Publish("s"); err != nil {
		t.Fatal(err)
	}
	if err := dial(t, addr).Publish("s"); !errors.As(err, &refused) || refused.Code != rtmp.PublishBadName {
		t.Errorf("publishing a second time: %v", err)
	}
}

func TestItAcceptsAgainWhenThereAreDescriptors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr, _ := serveOn(t, loopback.Refusing(l, 2))
	if err := dial(t, addr).Publish("s"); err != nil {
		t.Fatal(err)
	}
}

func TestStreamsAndUnfinishedMessagesHaveBounds(t *testing.T) {
	addr, _ := start(t)
	var publishers []peer
	for i := range 8<<20/2/leastRing + 1 {
		p := dial(t, addr)
		err := p.Publish(strconv.Itoa(i))
		if i < 8<<20/2/leastRing {
			publishers = append(publishers, p)
			if err != nil {
				t.Fatalf("stream %d: %v", i, err)
			}
			continue
		}
		var refused *rtmp.StatusError
		if !errors.As(err, &refused) {
			t.Errorf("a stream too many: %v", err)
		}
	}
	// Each sends 1 MiB of a message of 2 MiB.
	part := rtmp.AppendChunkHeader(nil, 6, rtmp.TypeVideo, publishers[0].StreamID(), 0, 2<<20)
	for n := range 8 << 10 {
		if n > 0 {
			part = append(part, 0xc6)
		}
		part = append(part, make([]byte, 128)...)
	}
	ended := make(chan bool, len(publishers))
	for _, p := range publishers[:8] {
		go func() {
			_, err := p.conn.Write(part)
			for err == nil {
				_, err = p.ReadMessage()
			}
			ended <- !errors.Is(err, os.ErrDeadlineExceeded)
		}()
	}
	if !<-ended {
		t.Error("no publisher is ended for what it holds")
	}
}
