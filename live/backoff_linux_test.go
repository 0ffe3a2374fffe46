package live

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A line that was away for some seconds is tried again before its viewer counts as stalled.
func TestViewersLinesAreTriedAgainSoon(t *testing.T) {
	server, _ := pair(t)
	raw, err := server.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	most := func() (ms int, err error) {
		if control := raw.Control(func(fd uintptr) { ms, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, tcpRTOMax) }); control != nil {
			t.Fatal(control)
		}
		return ms, err
	}
	if _, err := most(); err == unix.ENOPROTOOPT {
		t.Skip("the kernel is older than 6.15")
	}
	h := NewHub(HubOptions{})
	p := mustPublish(t, h, "live/s", PublishOptions{})
	add(t, newWriter(t, WriterOptions{}), server, p.Stream(), ViewerOptions{})
	if ms, err := most(); err != nil || ms != int(mostBackoff.Milliseconds()) {
		t.Errorf("the longest wait is %d ms: %v", ms, err)
	}
	p.Close()
	h.Close()
}
