//go:build unix

package source_test

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/source"
)

// memory records what a raw source asks of it.
type memory struct {
	drops, takes int
	room         []byte // what Take gives
	dropped      chan struct{}
}

func (m *memory) Drop() {
	if m.drops++; m.dropped != nil {
		close(m.dropped)
		m.dropped = nil
	}
}

func (m *memory) Take() []byte { m.takes++; return m.room }

// connected is a Memory with its connection.
type connected struct {
	*memory
	conn io.Reader
}

func (c connected) Conn() io.Reader { return c.conn }

// rawReader is a Raw with its connection.
type rawReader struct {
	*source.Raw
	conn io.Reader
}

func (r rawReader) Read(p []byte, m *memory) (n, offered int, err error) {
	if err := r.Open(connected{m, r.conn}); err != nil {
		return 0, 0, err
	}
	r.Offer(p)
	return r.Raw.Read()
}

func rawOf(t *testing.T, c io.Reader) rawReader {
	t.Helper()
	if source.Descriptor(c) == nil {
		t.Fatalf("%T has no descriptor", c)
	}
	return rawReader{new(source.Raw), c}
}

func TestRawReadsWhatIsThereWithoutAWait(t *testing.T) {
	for _, kind := range []string{"tcp", "brief tcp", "unix"} {
		near, far := pair(t, kind)
		s := rawOf(t, near)
		if _, err := far.Write([]byte("abcdef")); err != nil {
			t.Fatal(err)
		}
		// The first may have to wait for the bytes.
		m := &memory{room: make([]byte, 3)}
		n, offered, err := s.Read(make([]byte, 3), m)
		if n != 3 || offered != 3 || err != nil {
			t.Fatalf("%d of %d, %v", n, offered, err)
		}
		m, p := new(memory), make([]byte, 10)
		if n, offered, err = s.Read(p, m); n != 3 || offered != 10 || err != nil || string(p[:n]) != "def" {
			t.Errorf("%q of %d, %v", p[:n], offered, err)
		}
		if m.drops+m.takes != 0 {
			t.Errorf("%d drops, %d takes without a wait", m.drops, m.takes)
		}
		_ = far.Close()
		if n, _, err := s.Read(p, &memory{room: p}); n != 0 || err != io.EOF {
			t.Errorf("at the end: %d, %v", n, err)
		}
	}
}

func TestRawHoldsNoMemoryWhileItWaits(t *testing.T) {
	for _, kind := range []string{"tcp", "brief tcp", "unix"} {
		for _, has := range []int{0, 100} { // bytes that Take gives
			near, far := pair(t, kind)
			s := rawOf(t, near)
			m := &memory{room: make([]byte, has), dropped: make(chan struct{})}
			dropped := m.dropped
			go func() {
				<-dropped
				_, _ = far.Write([]byte("abc"))
			}()
			n, offered, err := s.Read(make([]byte, 7), m)
			if m.drops != 1 || m.takes != 1 {
				t.Errorf("%s: %d drops, %d takes", kind, m.drops, m.takes)
			}
			if has == 0 {
				if n != 0 || offered != 0 || err != source.ErrAgain {
					t.Errorf("%s: %d of %d, %v; want ErrAgain", kind, n, offered, err)
				}
				// Nothing was lost.
				p := make([]byte, 7)
				if n, _, err := s.Read(p, m); err != nil || string(p[:n]) != "abc" {
					t.Errorf("%s: %q, %v", kind, p[:n], err)
				}
			} else if n != 3 || offered != has || err != nil || string(m.room[:3]) != "abc" {
				t.Errorf("%s: %d of %d, %v", kind, n, offered, err)
			}
		}
	}
}

// TestRawWithoutRoomTakesSome: as a reader with nothing in hand reads.
func TestRawWithoutRoomTakesSome(t *testing.T) {
	near, far := pair(t, "tcp")
	if _, err := far.Write([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	m := &memory{room: make([]byte, 8)}
	if n, offered, err := rawOf(t, near).Read(nil, m); n != 3 || offered != 8 || err != nil {
		t.Errorf("%d of %d, %v", n, offered, err)
	}
}

// TestRawErrorsAreThoseOfTheConnection: equal in text, type and what they match.
func TestRawErrorsAreThoseOfTheConnection(t *testing.T) {
	for _, kind := range []string{"tcp", "brief tcp", "unix"} {
		for _, e := range []struct {
			name string
			do   func(near conn) error
			is   error
		}{
			{"close", func(near conn) error { return near.Close() }, net.ErrClosed},
			{"deadline", func(near conn) error { return near.SetReadDeadline(time.Unix(1, 0)) }, os.ErrDeadlineExceeded},
		} {
			near, _ := pair(t, kind)
			s := rawOf(t, near)
			if err := e.do(near); err != nil {
				t.Fatal(err)
			}
			_, want := near.Read(make([]byte, 1))
			_, _, got := s.Read(make([]byte, 1), new(memory))
			if got == nil || got.Error() != want.Error() || !errors.Is(got, e.is) {
				t.Errorf("%s, %s: %v, want %v", kind, e.name, got, want)
			}
			var ge, we *net.OpError
			if !errors.As(got, &ge) || !errors.As(want, &we) || ge.Op != we.Op || ge.Net != we.Net || ge.Timeout() != we.Timeout() {
				t.Errorf("%s, %s: %#v, want %#v", kind, e.name, got, want)
			}
		}
	}
}

func TestRawWaitsAreEnded(t *testing.T) {
	for _, kind := range []string{"tcp", "brief tcp", "unix"} {
		for _, e := range endings {
			near, _ := pair(t, kind)
			s := rawOf(t, near)
			m := &memory{dropped: make(chan struct{})}
			dropped, result := m.dropped, make(chan error, 1)
			go func() { _, _, err := s.Read(make([]byte, 1), m); result <- err }()
			<-dropped
			if err := e.do(near); err != nil {
				t.Fatal(err)
			}
			if err := receive(t, kind+": "+e.name, result); !isOneOf(err, e.is) {
				t.Errorf("%s, %s: %v", kind, e.name, err)
			}
		}
	}
}

func TestRawGoesOnAfterSignals(t *testing.T) {
	near, far := pair(t, "tcp")
	s := rawOf(t, near)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				// What the runtime itself sends to preempt; it has SA_RESTART.
				_ = syscall.Kill(syscall.Getpid(), syscall.SIGURG)
			}
		}
	}()
	const n = 1 << 18
	go func() { _, _ = far.Write(make([]byte, n)) }()
	m := &memory{room: make([]byte, 4096)}
	for got := 0; got < n; {
		k, _, err := s.Read(make([]byte, 4096), m)
		if err != nil {
			t.Fatal(err)
		}
		got += k
	}
	close(stop)
	<-stopped
}

func TestDescriptorIsThatOfPlainConnectionsOnly(t *testing.T) {
	for kind, want := range map[string]bool{"tcp": true, "unix": true, "file": false, "pipe": false, "wrapped tcp": false, "tls": false} {
		near, _ := pair(t, kind)
		if got := source.Descriptor(near) != nil; got != want {
			t.Errorf("%s: %v", kind, got)
		}
	}
	if source.Descriptor((*net.TCPConn)(nil)) != nil {
		t.Error("a nil connection has one")
	}
}

// blocking is a socket that a process has inherited: its reads wait in the kernel, and the
// runtime's poller does not know it.
type blocking struct{ *os.File }

func (b blocking) RawRead() syscall.Conn { return b.File }

func TestRawOfABlockingSocket(t *testing.T) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	near, far := os.NewFile(uintptr(fds[0]), "near"), os.NewFile(uintptr(fds[1]), "far")
	defer near.Close()
	defer far.Close()
	s, m := rawOf(t, blocking{near}), &memory{room: make([]byte, 10)}
	for range 2 * 8 {
		// Most likely the read is inside the kernel by then. If it is not, it finds the bytes.
		time.AfterFunc(time.Millisecond, func() {
			if _, err := far.Write([]byte("abc")); err != nil {
				t.Error(err)
			}
		})
		if n, _, err := s.Read(m.room, m); n != 3 || err != nil {
			t.Fatalf("%d bytes, %v", n, err)
		}
	}
}
