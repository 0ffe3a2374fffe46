package sink

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/internal/testdisk"
	"github.com/sluice-go/sluice/lab/internal/sink/wal"
	"github.com/sluice-go/sluice/sluicetest"
)

// A served is a server that runs.
type served struct {
	*Server
	addr    string
	stop    context.CancelFunc
	done    chan error
	mu      sync.Mutex
	reasons []string
}

// serve runs a server for the time of a test, which must leave no counted memory. What it has
// listened at no other program takes.
func serve(t *testing.T, store Store, s Settings) *served {
	t.Helper()
	sluicetest.NoLeaks(t, nil)
	l, err := net.Listen("tcp", loopback.Host()+":0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, l, store, s)
}

func serveOn(t *testing.T, l net.Listener, store Store, s Settings) *served {
	t.Helper()
	v := &served{addr: l.Addr().String(), done: make(chan error, 1)}
	s.OnError = func(err error) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.reasons = append(v.reasons, err.Error())
	}
	v.Server = NewServer(store, s)
	ctx, stop := context.WithCancel(context.Background())
	v.stop = stop
	go func() { v.done <- v.Serve(ctx, l) }()
	return v
}

// end stops the server, and returns what Serve returned.
func (v *served) end(t *testing.T) error {
	t.Helper()
	v.stop()
	return receive(t, "end of the server", v.done)
}

// why waits for a reason that says this.
func (v *served) why(t *testing.T, part string) {
	t.Helper()
	eventually(t, "a reason with "+part, func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		return slices.ContainsFunc(v.reasons, func(r string) bool { return strings.Contains(r, part) })
	})
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	late := time.NewTimer(sinkWait)
	defer late.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("not within %v: %s", sinkWait, what)
		}
	}
}

func dial(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, sinkWait)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(sinkWait))
	return c.(*net.TCPConn)
}

func write(t *testing.T, c io.Writer, p ...[]byte) {
	t.Helper()
	if _, err := c.Write(bytes.Join(p, nil)); err != nil {
		t.Fatal(err)
	}
}

func TestRequestsAreAnsweredWithTheirNumbers(t *testing.T) {
	log := &fakeLog{}
	store := NewSync(log)
	s := serve(t, store, Settings{})
	c := dial(t, s.addr)
	payloads := []string{"one", "", strings.Repeat("long ", 50_000), "four"}
	for i, p := range payloads {
		write(t, c, frame(p))
		if got := answers(t, c, 1); got[0] != uint64(i+1) {
			t.Errorf("record %d is answered %d", i+1, got[0])
		}
	}
	// And without waiting, in pieces of any size.
	var all []byte
	for i := range 3000 {
		all = append(all, frame(strings.Repeat("p", i%400))...)
	}
	go func() {
		for len(all) > 0 {
			n := min(1+rand.IntN(5000), len(all))
			c.Write(all[:n])
			all = all[n:]
		}
		c.CloseWrite()
	}()
	for i, got := range answers(t, c, 3000) {
		if got != uint64(i+5) {
			t.Fatalf("record %d is answered %d", i+5, got)
		}
	}
	ended(t, c)
	if err := s.end(t); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(log.records[:4], payloads) || len(log.records) != 3004 {
		t.Errorf("%d records", len(log.records))
	}
	n := s.Counts()
	if n.Open != 0 || n.Accepted != 1 || n.Refused != 0 || n.Records != 3004 || n.Bytes < 250_007 || len(s.reasons) > 0 {
		t.Errorf("%+v %q", n, s.reasons)
	}
}

func TestAnswersKeepTheOrderOfRequests(t *testing.T) {
	store := newHeldStore()
	s := serve(t, store, Settings{})
	c := dial(t, s.addr)
	for i := range 4 {
		write(t, c, frame(fmt.Sprint(i)))
		store.wait(t, 1)
	}
	for _, i := range []int{2, 3, 1} {
		store.calls[i].done(uint64(10+i), nil)
	}
	c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if n, err := c.Read(make([]byte, 8)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("answered before the first: %d bytes, %v", n, err)
	}
	c.SetReadDeadline(time.Now().Add(sinkWait))
	store.calls[0].done(10, nil)
	if got := answers(t, c, 4); !slices.Equal(got, []uint64{10, 11, 12, 13}) {
		t.Errorf("%v", got)
	}
	if err := s.end(t); err != nil {
		t.Error(err)
	}
}

// pipes is a listener whose connections hold no bytes: a write waits for its reader.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn, 16), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// dial returns a connection whose other end counts its writes.
func (p *pipes) dial() (net.Conn, *countedConn) {
	here, there := net.Pipe()
	counted := &countedConn{Conn: there}
	p.conns <- counted
	return here, counted
}

type countedConn struct {
	net.Conn
	mu     sync.Mutex
	writes []int
}

func (c *countedConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	c.writes = append(c.writes, len(b))
	c.mu.Unlock()
	return c.Conn.Write(b)
}

func TestManyAnswersAreOneWrite(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	store, l := newHeldStore(), newPipes()
	s := serveOn(t, l, store, Settings{})
	c, counted := l.dial()
	for range 50 {
		write(t, c, frame("x"))
	}
	store.wait(t, 50)
	for i := len(store.calls) - 1; i >= 0; i-- { // the first last
		store.calls[i].done(uint64(i+1), nil)
	}
	answers(t, c, 50)
	if !slices.Equal(counted.writes, []int{400}) {
		t.Errorf("writes of %v bytes", counted.writes)
	}
	c.Close()
	if err := s.end(t); err != nil {
		t.Error(err)
	}
}

func TestAClientThatTakesNoAnswersIsHeldUpAndThenCutOff(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	synctest.Test(t, func(t *testing.T) {
		log := &fakeLog{}
		store, l := NewAsync(log, AsyncOptions{SyncEvery: time.Hour}), newPipes()
		s := serveOn(t, l, store, Settings{InFlight: 8, Timeout: 10 * time.Second})
		c, _ := l.dial()
		sent := 0
		gone := make(chan error, 1)
		go func() {
			for {
				if _, err := c.Write(frame("x")); err != nil {
					gone <- err
					return
				}
				sent++
			}
		}()
		synctest.Wait()
		if n := log.LastIndex(); n != 8 || sent > 9 {
			t.Errorf("%d records sent, %d kept, with 8 in flight", sent, n)
		}
		began := time.Now()
		<-gone
		if took := time.Since(began); took < 9*time.Second || took > 10*time.Second {
			t.Errorf("cut off after %v", took)
		}
		synctest.Wait()
		s.why(t, "took no answers for 10s")
		if err := s.end(t); err != nil {
			t.Error(err)
		}
		if n := s.Counts(); n.Records != 0 || n.Open != 0 {
			t.Errorf("%+v", n)
		}
		store.Close()
	})
}

// Between records a client may be silent for as long as it likes, within one it
// may not.
func TestAClientThatStopsWithinARecordIsCutOff(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	for sent, within := range map[string]time.Duration{
		"":                               0,
		"\x00":                           10 * time.Second,
		"\x00\x00\x00":                   10 * time.Second,
		"\x00\x00\x00\x09":               10 * time.Second,
		"\x00\x00\x00\x09eight by":       10 * time.Second,
		"\x00\x10\x00\x00and a MiB more": 26 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			log := &fakeLog{}
			store, l := NewSync(log), newPipes()
			s := serveOn(t, l, store, Settings{Timeout: 10 * time.Second})
			c, _ := l.dial()
			go func() {
				c.Write(frame("a whole one"))
				c.Write([]byte(sent))
			}()
			if _, err := io.ReadFull(c, make([]byte, 8)); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			c.SetReadDeadline(began.Add(time.Hour))
			_, err := c.Read(make([]byte, 1))
			took := time.Since(began)
			switch {
			case within == 0 && (!os.IsTimeout(err) || s.Counts().Open != 1):
				t.Errorf("an idle client: %v after %v", err, took)
			case within > 0 && (os.IsTimeout(err) || took < within || took > within+time.Second):
				t.Errorf("%q: %v after %v, want the end after %v", sent, err, took, within)
			}
			if within > 0 {
				c.Close()
				synctest.Wait()
				s.why(t, "stopped within a record")
			}
			if err := s.end(t); err != nil {
				t.Error(err)
			}
			store.Close()
		})
	}
}

func TestHostileFrames(t *testing.T) {
	log := &fakeLog{}
	store := NewSync(log)
	s := serve(t, store, Settings{MaxRecord: 1000})
	for _, c := range []struct {
		name   string
		send   []byte
		acked  int
		reason string
	}{
		{"the longest", frame(strings.Repeat("x", 1000)), 1, ""},
		{"one byte more", frame(strings.Repeat("x", 1001)), 0, "a record of 1001 bytes, at most 1000"},
		{"4 GiB", []byte{255, 255, 255, 255, 1}, 0, "a record of 4294967295 bytes"},
		{"behind a good one", append(frame("good"), 0x80, 0, 0, 0), 1, "a record of 2147483648 bytes"},
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), 0, "a record of 1195725856 bytes"},
		{"nothing", nil, 0, ""},
		{"half a length", []byte{0, 0}, 0, "ended inside a record"},
		{"half a payload", append(frame("good"), frame("abc")[:5]...), 1, "ended inside a record"},
	} {
		conn := dial(t, s.addr)
		write(t, conn, c.send)
		conn.CloseWrite()
		answers(t, conn, c.acked)
		ended(t, conn)
		if c.reason != "" {
			s.why(t, c.reason)
		}
	}
	if err := s.end(t); err != nil {
		t.Fatal(err)
	}
	store.Close()
	if n := s.Counts(); n.Refused != 4 || n.Records != 3 || n.Open != 0 {
		t.Errorf("%+v %q", n, s.reasons)
	}
	for _, r := range s.reasons {
		if !strings.HasPrefix(r, "127.") {
			t.Errorf("%q does not say whose", r)
		}
	}
}

func TestMemoryFollowsWhatHasComeNotWhatWasClaimed(t *testing.T) {
	store := newHeldStore()
	s := serve(t, store, Settings{MaxRecord: 1 << 30})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const conns = 50
	for range conns {
		c := dial(t, s.addr)
		write(t, c, []byte{0x3f, 255, 255, 255}, make([]byte, 1000))
		c.CloseWrite()
		ended(t, c) // the server has seen all of it
	}
	runtime.ReadMemStats(&after)
	if grown := (after.TotalAlloc - before.TotalAlloc) / conns; grown > 1<<20 {
		t.Errorf("%d bytes allocated for each connection that claimed 1 GiB and sent 1000 bytes", grown)
	}
	if err := s.end(t); err != nil {
		t.Error(err)
	}
}

func TestAnErrorOfTheStoreClosesTheConnectionWithoutAnAnswer(t *testing.T) {
	store := newHeldStore()
	s := serve(t, store, Settings{})
	c, other := dial(t, s.addr), dial(t, s.addr)
	for i := range 3 {
		write(t, c, frame(fmt.Sprint(i)))
		store.wait(t, 1)
	}
	store.calls[2].done(7, nil)
	store.calls[1].done(0, errors.New("no leader"))
	store.calls[0].done(5, nil)
	if got := answers(t, c, 1); got[0] != 5 {
		t.Errorf("%v", got)
	}
	ended(t, c)
	s.why(t, "no leader")
	// Others go on: it may pass.
	write(t, other, frame("x"))
	store.wait(t, 1)
	store.calls[3].done(8, nil)
	answers(t, other, 1)
	if err := s.end(t); err != nil {
		t.Error(err)
	}
	if n := s.Counts(); n.Records != 2 || n.Refused != 1 {
		t.Errorf("%+v", n)
	}
}

func TestAStoreThatHasFailedEndsTheServer(t *testing.T) {
	for _, mode := range []string{"sync", "async", "idle"} {
		log := &fakeLog{}
		log.failWith("append", syscall.ENOSPC)
		var store Store = NewSync(log)
		if mode != "sync" {
			store.Close()
			store = NewAsync(log, AsyncOptions{})
		}
		s := serve(t, store, Settings{})
		if mode == "idle" {
			<-give(store, "not by a connection")
		} else {
			c := dial(t, s.addr)
			write(t, c, frame("x"))
			if mode == "async" {
				answers(t, c, 1) // it was promised nothing more
			}
			ended(t, c)
		}
		if err := receive(t, "end of the server", s.done); !errors.Is(err, ErrFailed) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", mode, err)
		}
		store.Close()
		s.stop()
	}
}

func TestTheEndAnswersWhatWasReceivedWhole(t *testing.T) {
	store := newHeldStore()
	s := serve(t, store, Settings{Grace: sinkWait})
	c, idle := dial(t, s.addr), dial(t, s.addr)
	write(t, idle, frame("done"))
	store.wait(t, 1)
	store.calls[0].done(1, nil)
	answers(t, idle, 1)
	write(t, c, frame("a"), frame("b"), frame("half")[:6])
	store.wait(t, 2)
	s.stop()
	ended(t, idle)
	none(t, "ended before the store has answered", s.done)
	first := uint64(2)
	for _, call := range store.calls[1:] {
		call.done(first, nil)
		first += uint64(len(call.texts))
	}
	if got := answers(t, c, 2); !slices.Equal(got, []uint64{2, 3}) {
		t.Errorf("%v", got)
	}
	ended(t, c)
	c.Close()
	idle.Close()
	if err := receive(t, "end of the server", s.done); err != nil {
		t.Error(err)
	}
	if len(s.reasons) > 0 {
		t.Errorf("%q", s.reasons)
	}
	if _, err := net.Dial("tcp", s.addr); err == nil {
		t.Error("it still listens")
	}
}

func TestTheEndDoesNotWaitForever(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	synctest.Test(t, func(t *testing.T) {
		store, l := NewAsync(&fakeLog{}, AsyncOptions{SyncEvery: time.Hour}), newPipes()
		s := serveOn(t, l, store, Settings{Timeout: time.Hour, Grace: 3 * time.Second})
		c, _ := l.dial()
		write(t, c, frame("x")) // and does not read
		synctest.Wait()
		began := time.Now()
		if err := s.end(t); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("ended after %v", took)
		}
		s.why(t, "cut off after 3s")
		store.Close()
	})
}

func TestUnixSockets(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	dir, err := os.MkdirTemp("", "sink") // not the test's: the path has to be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	store := NewSync(&fakeLog{})
	s := serveOn(t, l, store, Settings{})
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	write(t, c, frame("x"))
	answers(t, c, 1)
	c.Close()
	if err := s.end(t); err != nil {
		t.Error(err)
	}
	store.Close()
	if _, err := os.Stat(path); err == nil {
		t.Error("the socket is left")
	}
}

// Clients of every kind at once on a real log: what was acknowledged is there.
func TestManyClientsOnARealLog(t *testing.T) {
	for _, mode := range []string{"sync", "async"} {
		dir := testdisk.Dir(t)
		log, _, err := wal.Open(dir, wal.Options{SegmentBytes: 100_000})
		if err != nil {
			t.Fatal(err)
		}
		var store Store
		if mode == "sync" {
			store = NewSync(log)
		} else {
			store = NewAsync(log, AsyncOptions{SyncEvery: time.Millisecond})
		}
		s := serve(t, store, Settings{InFlight: 32})
		var mu sync.Mutex
		want := map[uint64][]byte{}
		seed := sluicetest.Seed(t)
		var all sync.WaitGroup
		for g := range 12 {
			random := rand.New(rand.NewPCG(seed, uint64(g)))
			c := dial(t, s.addr)
			sent := make(chan []byte, 100)
			all.Go(func() {
				defer c.CloseWrite()
				defer close(sent)
				for i := range 60 {
					p := make([]byte, random.IntN(3000))
					binary.BigEndian.AppendUint32(p[:0], uint32(g*1000+i))
					sent <- p
					if _, err := c.Write(frame(string(p))); err != nil {
						return // a client that breaks off below
					}
				}
			})
			all.Go(func() {
				n := 0
				for p := range sent {
					var b [8]byte
					if _, err := io.ReadFull(c, b[:]); err != nil {
						if g%4 != 3 {
							t.Errorf("client %d: %v", g, err)
						}
						continue
					}
					mu.Lock()
					want[binary.BigEndian.Uint64(b[:])] = p
					mu.Unlock()
					if n++; g%4 == 3 && n == 10 {
						c.SetLinger(0)
						c.Close()
					}
				}
			})
		}
		all.Wait()
		if err := s.end(t); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		found := 0
		_, err = wal.Scan(dir, func(index uint64, p []byte) error {
			if w, ok := want[index]; ok {
				found++
				if !bytes.Equal(p, w) {
					return fmt.Errorf("record %d is not what was acknowledged", index)
				}
			}
			return nil
		})
		if err != nil || found != len(want) || found < 500 {
			t.Errorf("%s: %d of %d acknowledged records found, %v", mode, found, len(want), err)
		}
	}
}
