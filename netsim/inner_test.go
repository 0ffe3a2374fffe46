package netsim_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/netsim"
)

// counts is a connection whose calls return so much more than they were given.
type counts struct {
	net.Conn
	more int
}

func (c counts) Read(p []byte) (int, error)  { return len(p) + c.more, nil }
func (c counts) Write(p []byte) (int, error) { return len(p) + c.more, nil }

func TestCountsThatCannotBeAreErrors(t *testing.T) {
	for _, o := range []netsim.Options{{}, {Latency: time.Millisecond}, {Out: netsim.Direction{Sizes: netsim.Poor}}} {
		for more, want := range map[int]string{1: " returned ", -1 << 20: " returned -", -1: "short write"} {
			below, far := net.Pipe()
			defer far.Close()
			c := netsim.NewConn(counts{below, more}, o)
			if n, err := c.Write(make([]byte, 5000)); n < 0 || n >= 5000 || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v, %d more: Write returns %d, %v", o, more, n, err)
			}
			if n, err := c.Read(make([]byte, 5000)); more != -1 && (n != 0 || err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%+v, %d more: Read returns %d, %v", o, more, n, err)
			}
			_ = c.Close()
		}
	}
}
