package webrtc

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/pion/transport/v5/packetio"
)

// What waits for clients over TCP that take nothing has a bound for all together, and those who
// take it get every packet, in order.
func TestSlowClientsOverTCP(t *testing.T) {
	const clients, each = 40, 1000
	all := new(atomic.Int64)
	open := func() (*counted, net.Conn) {
		here, there := net.Pipe()
		c := &counted{Conn: here, leave: func() {}, out: (&buffers{all: all}).one()}
		t.Cleanup(func() { c.Close() })
		return c, there
	}
	var slow []*counted
	for range clients {
		c, _ := open()
		slow = append(slow, c)
		for range maxWaiting/each + 1 {
			if _, err := c.Write(make([]byte, each)); err != nil && !errors.Is(err, packetio.ErrFull) {
				t.Fatal(err)
			}
		}
	}
	if n := all.Load(); n < maxWaitingAll/2 || n > maxWaitingAll+clients*fairWaiting {
		t.Errorf("%d bytes wait", n)
	}
	c, there := open()
	for i := range byte(100) {
		if _, err := c.Write(bytes.Repeat([]byte{i}, each)); err != nil {
			t.Fatal(i, err)
		}
	}
	p := make([]byte, each)
	for i := range byte(100) {
		if _, err := io.ReadFull(there, p); err != nil || p[0] != i || p[each-1] != i {
			t.Fatal(i, p[0], err)
		}
	}
	for _, c := range append(slow, c) {
		c.Close()
	}
	if n := all.Load(); n != 0 {
		t.Errorf("%d bytes wait after the end", n)
	}
	if _, err := c.Write(p); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}
