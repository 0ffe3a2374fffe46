package live

import (
	"bytes"
	"math/rand/v2"
	"net"
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
