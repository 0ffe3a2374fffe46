package live

import (
	"bytes"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"
)

// writes is a connection that remembers what was written.
type writes struct {
	net.Conn
	all   []byte
	calls int
}

func (w *writes) Write(p []byte) (int, error) {
	w.all = append(w.all, p...)
	w.calls++
	return len(p), nil
}

// Where writes block, parts go out in their order and as far as they are to, a record of
// small ones in one call.
func TestBlockingWritesJoinSmallParts(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		var parts [][]byte
		for range 1 + r.IntN(30) {
			p := make([]byte, 1+r.IntN(200))
			if r.IntN(5) == 0 {
				p = make([]byte, 1+r.IntN(3*tlsRecord))
			}
			for i := range p {
				p[i] = byte(r.Uint32())
			}
			parts = append(parts, p)
		}
		all := bytes.Join(parts, nil)
		most := r.IntN(len(all) + 10)
		conn := &writes{}
		l := link{conn: conn}
		n, err := l.write(parts, 0, most)
		want := all[:min(most, len(all))]
		if err != nil || n != len(want) || !bytes.Equal(conn.all, want) {
			t.Fatalf("seed %d: %d of %d bytes went out, want %d; %v", seed, n, len(all), len(want), err)
		}
		// A large part ends what was collected before it, and begins anew behind it.
		if limit := 2*len(all)/tlsRecord + 2; conn.calls > limit {
			t.Fatalf("seed %d: %d calls for %d bytes, at most %d", seed, conn.calls, len(all), limit)
		}
	}
}

// counts is a connection whose Write says that so many bytes more were written.
type counts struct {
	writes
	more int
}

func (c *counts) Write(p []byte) (int, error) {
	_, _ = c.writes.Write(p)
	return len(p) + c.more, nil
}

func TestBlockingWritesEndWithACountThatCannotBe(t *testing.T) {
	large, small := make([]byte, 2*tlsRecord), make([]byte, 100)
	for _, parts := range [][][]byte{{large, small}, {small, small}, {small, large, small}} {
		for more, want := range map[int]string{
			-1: "short write", 1: " returned ", -1 << 20: " returned -",
		} {
			conn := &counts{more: more}
			l := link{conn: conn}
			n, err := l.write(parts, 0, 1<<20)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%d more: %v", more, err)
			}
			if conn.calls != 1 || n < 0 || n > len(conn.all) {
				t.Errorf("%d more: %d calls, %d of %d bytes", more, conn.calls, n, len(conn.all))
			}
		}
	}
}

type acknowledging struct{ net.Conn }

func (acknowledging) Unacked() int { return 7 }

// A connection that knows what its peer has not acknowledged is asked for that.
func TestUnackedOfTheConnection(t *testing.T) {
	for conn, want := range map[net.Conn]int{acknowledging{}: 7, &net.UnixConn{}: 0} {
		if l := (link{conn: conn}); l.unacked() != want {
			t.Errorf("%T: %d", conn, l.unacked())
		}
	}
}
