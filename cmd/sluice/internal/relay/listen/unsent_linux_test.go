package listen

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// The kernel takes little for a client that reads nothing, whatever the answer's length.
func TestTheKernelTakesLittleForWhoReadsNothing(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Pausing{TCPListener: tcp.(*net.TCPListener)}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	taken := 0
	for part := make([]byte, 16<<10); ; {
		// What is on its way is acknowledged, and makes room, in microseconds.
		conn.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		n, err := conn.Write(part)
		if taken += n; errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if taken > 4*MaxUnsent {
		t.Errorf("the kernel has taken %d bytes", taken)
	}
}
