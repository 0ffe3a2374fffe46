package sluice_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

func TestNewBufReaderOfABufReaderReturnsIt(t *testing.T) {
	r := readerOf(t, paranoid(t), 0, strings.NewReader("abc"))
	mustReadByte(t, r, 'a')
	if sluice.NewBufReader(r) != r {
		t.Error("a reader of a reader was made")
	}
	mustReadByte(t, r, 'b')
	// Options ask for another.
	other := sluice.NewBufReader(r, sluice.Options{BufLen: 100})
	defer other.Recycle()
	if other == r {
		t.Error("the options were forgotten")
	}
	mustReadByte(t, other, 'c')
}

func TestResetToItselfDoesNothing(t *testing.T) {
	r := readerOf(t, paranoid(t), 0, strings.NewReader("ab"))
	mustReadByte(t, r, 'a')
	r.Reset(r)
	mustReadByte(t, r, 'b')
}

func TestResetAllocatesNothing(t *testing.T) {
	skipAllocations(t)
	tcp, _ := tcpPair(t)
	unix, _ := unixPair(t)
	for name, src := range map[string]io.Reader{"reader": strings.NewReader(""), "tcp": tcp, "unix": unix} {
		r := readerOf(t, mem.New(mem.Options{}), 0, src)
		if n := testing.AllocsPerRun(100, func() { r.Reset(src) }); n != 0 {
			t.Errorf("%s: Reset makes %v allocations", name, n)
		}
		if n := testing.AllocsPerRun(100, func() { r.Recycle(); r.Reset(src) }); n != 0 {
			t.Errorf("%s: Recycle and Reset make %v allocations", name, n)
		}
	}
	if n := testing.AllocsPerRun(100, func() { keptReader = sluice.NewBufReader(tcp) }); n > 2 {
		t.Errorf("NewBufReader of a connection makes %v allocations", n)
	}
}

var keptReader *sluice.BufReader

// countedConn counts the reads of a connection that middleware has wrapped.
type countedConn struct {
	net.Conn
	reads int
}

func (c *countedConn) Read(p []byte) (int, error) {
	c.reads++
	return c.Conn.Read(p)
}

// TestOneReadForEachMessageOverAWrappedConnection: each comes by itself, as the
// answer to one that was sent.
func TestOneReadForEachMessageOverAWrappedConnection(t *testing.T) {
	rng := rand.New(rand.NewPCG(sluicetest.Seed(t), 1))
	const messages = 3000
	for _, most := range []int{100, 1000, 3000} {
		for _, way := range []string{"ReadBuf", "Next"} {
			t.Run(fmt.Sprintf("%d/%s", most, way), func(t *testing.T) {
				near, far := tcpPair(t)
				c := &countedConn{Conn: near}
				r := readerOf(t, mem.New(mem.Options{}), 0, c)
				message := make([]byte, 4+most)
				for range messages {
					n := 100 + rng.IntN(most-99)
					binary.BigEndian.PutUint32(message, uint32(n))
					if _, err := far.Write(message[:4+n]); err != nil {
						t.Fatal(err)
					}
					length, err := r.ReadBE(4)
					if err != nil || length != n {
						t.Fatalf("%d, %v; want %d", length, err, n)
					}
					if way == "Next" {
						_, err = r.Next(length)
					} else {
						err = discardBuf(r, length)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				each := float64(c.reads) / messages
				t.Logf("%.3f reads for each message", each)
				if each > 1.05 {
					t.Errorf("%.3f reads for each message", each)
				}
			})
		}
	}
}
