package tlsfed_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/aio/internal/tlsfed"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// TestRefusedBeforeTheHandshake: what is no TLS ends the session at once, with the
// alert where crypto/tls sends one.
func TestRefusedBeforeTheHandshake(t *testing.T) {
	seed := sluicetest.Seed(t)
	noise := make([]byte, 3000)
	dice := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	dice.Read(noise)
	noise[0] |= 0x40 // not a record
	for _, c := range []struct {
		name  string
		said  []byte
		alert byte // or 0
	}{
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 0},
		{"SSL 2", []byte{0x80, 0x2e, 1, 0, 2, 0, 0, 0}, 70},
		{"a record that is too long", []byte{22, 3, 1, 0xff, 0xff}, 22},
		{"a message that is too long", []byte{22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff}, 80},
		{"another message first", []byte{22, 3, 1, 0, 4, 14, 0, 0, 0}, 10},
		{"application data first", []byte{23, 3, 3, 0, 1, 0}, 0},
		{"an empty handshake record", []byte{22, 3, 1, 0, 0}, 10},
		{"another version", []byte{22, 3, 9, 0, 4, 1, 0, 0, 0}, 50},
		{"noise", noise, 0},
		{"an alert", []byte{21, 3, 1, 0, 2, 2, 40}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, _ := configs(t, tls.VersionTLS12)
			client, ended, _ := serve(t, config, 2)
			if _, err := client.Write(c.said); err != nil && len(c.said) < len(noise) {
				t.Fatal(err)
			}
			heard, _ := io.ReadAll(client)
			err := result(t, ended)
			if err == nil || errors.Is(err, io.EOF) || errors.Is(err, tlsfed.ErrNoBytes) {
				t.Errorf("the server ends with %v", err)
			}
			if c.alert != 0 && (len(heard) != 7 || heard[0] != 21 || heard[6] != c.alert) {
				t.Errorf("the client gets % x, want the alert %d", heard, c.alert)
			}
		})
	}
}

// changing is a connection that changes a byte of what it writes, once on.
type changing struct {
	net.Conn
	on bool
}

func (c *changing) Write(p []byte) (int, error) {
	if c.on {
		p = bytes.Clone(p)
		p[len(p)-1] ^= 1
	}
	return c.Conn.Write(p)
}

func TestChangedRecordIsRefusedWithAnAlert(t *testing.T) {
	for _, version := range versions {
		server, clientConfig := configs(t, version)
		raw, ended, s := serve(t, server, 64<<10)
		wire := &changing{Conn: raw}
		client := tls.Client(wire, clientConfig)
		echo(t, client, 1)
		wire.on = true
		if _, err := client.Write([]byte("forged")); err != nil {
			t.Fatal(err)
		}
		_, err := client.Read(make([]byte, 1))
		var alert *net.OpError
		if !errors.As(err, &alert) || alert.Op != "remote error" {
			t.Errorf("the client reads %v, want an alert", err)
		}
		if err := result(t, ended); err == nil || errors.Is(err, io.EOF) || s.read != 1 {
			t.Errorf("the server ends with %v after %d bytes", err, s.read)
		}
	}
}

// A stream that breaks off is not a stream that has ended.
func TestEndWithinARecord(t *testing.T) {
	server, clientConfig := configs(t, tls.VersionTLS13)
	raw, ended, _ := serve(t, server, 64<<10)
	client := tls.Client(raw, clientConfig)
	echo(t, client, 1)
	if _, err := raw.Write([]byte{23, 3, 3, 0, 100, 1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	raw.(*net.TCPConn).CloseWrite()
	if err := result(t, ended); err != io.EOF {
		// The partial record never reached crypto/tls: the code that cuts records reports it.
		t.Errorf("the session ends with %v", err)
	}
}

// sink is an Output that throws everything away.
type sink struct{ woken chan struct{} }

func (sink) WriteRecords([]byte, bool) error { return nil }
func (sink) WriteRecordBuf(b mem.Buf, _ bool) error {
	b.Release()
	return nil
}
func (sink) Empty() bool          { return true }
func (s sink) Wake()              { s.woken <- struct{}{} }
func (sink) LocalAddr() net.Addr  { return &net.TCPAddr{} }
func (sink) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// What waits for a handshake to begin holds memory for what has come. The budget knows that it does not come
// back, until the handshake begins or the session is closed.
func TestMemoryFollowsBytesThatWait(t *testing.T) {
	config, _ := configs(t, tls.VersionTLS13)
	memory := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, memory)
	handshakes := &tlsfed.Handshakes{Limit: 1}
	out := sink{make(chan struct{}, 2)}
	first := tlsfed.New(config, out, memory, handshakes, new(sync.WaitGroup))
	if more, err := first.Record([]byte{22, 3, 1, 0, 4, 1, 0, 0x10, 0}); !more || err != nil {
		t.Fatal(more, err) // the beginning of a hello: the handshake waits for the rest
	}
	second := tlsfed.New(config, out, memory, handshakes, new(sync.WaitGroup))
	record := append([]byte{22, 3, 1, 0x10, 0}, make([]byte, 0x1000)...)
	bytesIn, more := 0, true
	for more {
		var err error
		if more, err = second.Record(record); err != nil {
			t.Fatal(err)
		}
		bytesIn += len(record)
		if out := memory.Stats().OutBytes; out > int64(4*bytesIn+2<<10) {
			t.Fatalf("%d bytes hold %d", bytesIn, out)
		}
	}
	if bytesIn < 64<<10 || bytesIn > 80<<10 {
		t.Errorf("more is refused after %d bytes", bytesIn)
	}
	third := tlsfed.New(config, out, memory, handshakes, new(sync.WaitGroup))
	if _, err := third.Record(record); err != nil {
		t.Fatal(err)
	}
	if second.Idle() < bytesIn || third.Idle() < len(record) {
		t.Errorf("idle: %d, %d", second.Idle(), third.Idle())
	}
	if third.Close(); third.Idle() != 0 {
		t.Errorf("closed, and %d are idle", third.Idle())
	}
	second.End(aio.ErrDeadline)
	first.End(aio.ErrDeadline)
	for _, s := range []*tlsfed.Session{first, second} {
		<-out.woken
		if over, err := s.Handshake(); !over || err != aio.ErrDeadline {
			t.Errorf("after the deadline: %v, %v", over, err)
		}
		if s.Idle() != 0 {
			t.Errorf("over, and %d are idle", s.Idle())
		}
		s.Close()
	}
}

// Once Record has said that no more is to be read, it says so until Wake was called: who pauses
// then waits for that.
func TestRecordIsRefusedUntilWake(t *testing.T) {
	config, _ := configs(t, tls.VersionTLS13)
	memory := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, memory)
	handshakes := &tlsfed.Handshakes{Limit: 1, Silence: time.Hour}
	out := sink{make(chan struct{}, 3)}
	first := tlsfed.New(config, out, memory, handshakes, new(sync.WaitGroup))
	if _, err := first.Record([]byte{22, 3, 1, 0, 4, 1, 0, 0x10, 0}); err != nil {
		t.Fatal(err)
	}
	s := tlsfed.New(config, out, memory, handshakes, new(sync.WaitGroup)) // whose handshake is read here
	record := append([]byte{22, 3, 1, 0x10, 0}, make([]byte, 0x1000)...)
	held := 0
	for more := true; more; held += len(record) {
		var err error
		if more, err = s.Record(record); err != nil {
			t.Fatal(err)
		}
	}
	for held > 0 {
		n, err := s.ReadWire(make([]byte, min(held, 30_000)))
		if held -= n; err != nil || held > 0 && len(out.woken) > 0 {
			t.Fatalf("%d bytes wait, woken %d times: %v", held, len(out.woken), err)
		}
		more, err := s.Record(record[:5])
		if held += 5; err != nil || more != (len(out.woken) > 0) {
			t.Fatalf("%d bytes wait, more is %v, woken %d times: %v", held, more, len(out.woken), err)
		}
		if more {
			break
		}
	}
	<-out.woken
	for _, s := range []*tlsfed.Session{first, s} { // one after the other, as there is one place
		s.End(aio.ErrDeadline)
		<-out.woken
		s.Close()
	}
}

func TestRecordsBeyondTheBudget(t *testing.T) {
	config, _ := configs(t, tls.VersionTLS13)
	memory := mem.New(mem.Options{Name: t.Name(), Budget: 1024})
	s := tlsfed.New(config, sink{make(chan struct{}, 1)}, memory, &tlsfed.Handshakes{Limit: 1}, new(sync.WaitGroup))
	if _, err := s.Record(append([]byte{22, 3, 1, 0x20, 0}, make([]byte, 0x2000)...)); !errors.Is(err, mem.ErrBudget) {
		t.Errorf("Record returns %v", err)
	}
	s.Close()
}

// FuzzSession: whatever a client says, and however it is cut, the session ends and
// gives all memory back.
func FuzzSession(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), byte(3))
	f.Add([]byte{22, 3, 1, 0, 4, 1, 0, 0x10, 0}, byte(1))
	f.Add([]byte{22, 3, 1, 0xff, 0xff, 1}, byte(0))
	f.Add([]byte{21, 3, 3, 0, 2, 1, 0, 22, 3, 1, 0, 0}, byte(9))
	config, _ := configs(f, tls.VersionTLS12)
	f.Fuzz(func(t *testing.T, said []byte, chunk byte) {
		memory := mem.New(mem.Options{Name: "fuzz", Leak: mem.LeakParanoid})
		sluicetest.NoLeaks(t, memory)
		out := sink{make(chan struct{}, 100)}
		s := tlsfed.New(config, out, memory, &tlsfed.Handshakes{Limit: 1}, new(sync.WaitGroup))
		frames := aio.Frames{Size: tlsfed.RecordSize, Limit: tlsfed.MaxRecord, Allocator: memory}
		started := false
		for len(said) > 0 {
			n := min(int(chunk)+1, len(said))
			if err := frames.Add(said[:n], func(record []byte) error {
				started = true
				_, err := s.Record(record)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			said = said[n:]
		}
		frames.Release()
		s.End(io.EOF)
		for over := !started; !over; {
			<-out.woken
			var err error
			if over, err = s.Handshake(); over && err == nil {
				t.Error("a session is open without a client's answer")
			}
		}
		s.Close()
	})
}
