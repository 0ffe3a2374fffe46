package echo

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/sluice-go/sluice/mem"
)

func TestWhatComesBackIsWhatWasSent(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for name, settings := range everySettings {
		rng := rand.New(rand.NewPCG(seed, 1))
		server, stop := start(t, settings)
		c := dial(t, server)
		total := 3 << 20
		if settings.small() {
			total = 20_000
		}
		sent := make([]byte, total)
		for i := range sent {
			sent[i] = byte(rng.Uint32())
		}
		go func() {
			for rest := sent; len(rest) > 0; {
				n := min(1+rng.IntN(1<<rng.IntN(18)), len(rest))
				if _, err := c.Write(rest[:n]); err != nil {
					return // the reading side says it
				}
				rest = rest[n:]
			}
			c.CloseWrite()
		}()
		got, err := io.ReadAll(c)
		if err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%s: %d of %d bytes came back, %v", name, len(got), len(sent), err)
		}
		// A client may see its end before the server has counted.
		counted := func() bool { c := server.Counts(); return c.Bytes == uint64(total) && c.Open == 0 }
		for late := time.Now().Add(atMost); !counted() && time.Now().Before(late); {
			runtime.Gosched()
		}
		if c := server.Counts(); c.Bytes != uint64(total) || c.Open != 0 || c.Requests == 0 {
			t.Errorf("%s: counted %+v", name, c)
		}
		if err := stop(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// recorder is a connection without a peer. It records the sizes of writes, and
// reads from a script: each entry answers one Read.
type recorder struct {
	net.Conn
	reads  [][]byte
	writes []int
}

func (r *recorder) Read(p []byte) (int, error) {
	if len(r.reads) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.reads[0])
	if r.reads[0] = r.reads[0][n:]; len(r.reads[0]) == 0 {
		r.reads = r.reads[1:]
	}
	return n, nil
}

func (r *recorder) Write(p []byte) (int, error) {
	r.writes = append(r.writes, len(p))
	return len(p), nil
}

func (r *recorder) SetReadDeadline(time.Time) error { return nil }

// When a connection cannot report waiting bytes, each read is sent before the
// next.
func TestNothingIsHeldBackWhereNobodyKnowsWhatWaits(t *testing.T) {
	for name, settings := range everySettings {
		echo := map[string]func(*conn, Settings){"std": std, "bufreader": bufReader}[settings.Engine]
		if settings.Engine == "std" && settings.WriteBuffer > 0 {
			echo = stdGathered
		}
		if echo == nil || settings.small() {
			continue
		}
		r := &recorder{reads: [][]byte{make([]byte, 10), make([]byte, 20), make([]byte, 30)}}
		c := &conn{Conn: r}
		echo(c, settings)
		if len(r.writes) != 3 || c.requests.Load() != 3 || c.bytes.Load() != 60 {
			t.Errorf("%s: writes of %v, %d requests, %d bytes", name, r.writes, c.requests.Load(), c.bytes.Load())
		}
	}
}

// counting is a TCP connection that counts what is written at once.
type counting struct {
	*net.TCPConn
	writes int
}

func (c *counting) Write(p []byte) (int, error) {
	c.writes++
	return c.TCPConn.Write(p)
}

func TestGatheringNeedsFewerWrites(t *testing.T) {
	if !newMoreTells(t) {
		t.Skip("this system does not tell what waits to be read")
	}
	for name, echo := range map[string]func(*conn, Settings){"std": stdGathered, "bufreader": bufReader} {
		a, b := pair(t)
		all := make([]byte, 32<<10)
		if _, err := a.Write(all); err != nil {
			t.Fatal(err)
		}
		if err := a.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		counts := &counting{TCPConn: b}
		c := &conn{Conn: counts}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			echo(c, Settings{Buffer: 1 << 10, WriteBuffer: 64 << 10})
			b.Close()
		}()
		got, err := io.ReadAll(a)
		<-ended
		if err != nil || len(got) != len(all) || c.requests.Load() < 32 || counts.writes > 16 {
			t.Errorf("%s: %d bytes, %d requests in %d writes, %v", name, len(got), c.requests.Load(), counts.writes, err)
		}
	}
}

// newMoreTells reports whether this system can report waiting bytes.
func newMoreTells(t *testing.T) bool {
	a, b := pair(t)
	if newMore(b).waits() {
		t.Fatal("something waits on a new connection")
	}
	if _, err := a.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	// Over loopback the bytes have arrived, or the system never reports them.
	return newMore(b).waits()
}

// pair is two ends of a TCP connection.
func pair(t *testing.T) (a, b *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a1, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b1, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{a1, b1} {
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(atMost))
	}
	return a1.(*net.TCPConn), b1.(*net.TCPConn)
}

func TestBufReaderHoldsNoMemoryAfterwards(t *testing.T) {
	for _, writeBuffer := range []int{0, 64 << 10} {
		before := mem.Default().Stats().CheckedOut
		server, stop := start(t, Settings{Engine: "bufreader", Buffer: 4 << 10, WriteBuffer: writeBuffer, Listeners: 1, Grace: 20 * time.Millisecond})
		// Ends in the middle of writing: what waits is given back too.
		fill(t, server, dial(t, server))
		if err := stop(); err != nil {
			t.Error(err)
		}
		if after := mem.Default().Stats().CheckedOut; after != before {
			t.Errorf("write buffer %d: %d bytes are held, %d before", writeBuffer, after, before)
		}
	}
}
