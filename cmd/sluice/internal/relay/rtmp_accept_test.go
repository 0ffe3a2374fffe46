package relay

import (
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice/rtmp"
)

// rtmpFlaky is a listener that fails at first.
type rtmpFlaky struct {
	net.Listener
	errs  []error
	tries atomic.Int64
}

func (l *rtmpFlaky) Accept() (net.Conn, error) {
	if n := int(l.tries.Add(1)); n <= len(l.errs) {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", l.errs[n-1])}
	}
	return l.Listener.Accept()
}

// A server that has run out of descriptors goes on when there are some again.
func TestRTMPAcceptGoesOnAfterErrorsThatPass(t *testing.T) {
	s := rtmpServe(t, nil)
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	flaky := &rtmpFlaky{Listener: plain, errs: []error{syscall.EMFILE, syscall.ENFILE, syscall.EMFILE, syscall.EINTR}}
	accepting := make(chan error)
	go func() { accepting <- s.rtmp.Serve(flaky, "rtmp", nil) }()
	conn, err := net.Dial("tcp", plain.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	x := rtmpClientOn(t, conn)
	if err := x.c.ClientHandshake(); err != nil {
		t.Fatal(err)
	}
	if err := x.c.Connect(rtmp.ConnectOptions{App: "live"}); err != nil {
		t.Fatal(err)
	}
	if err := x.c.Publish("s"); err != nil {
		t.Fatal(err)
	}
	if got := flaky.tries.Load(); got > int64(len(flaky.errs))+2 {
		t.Errorf("%d calls of Accept: the server asks again and again", got)
	}
	plain.Close()
	if err := <-accepting; err == nil {
		t.Error("a listener that fails for good is no error")
	}
}

// So does that of HTTP, and the log says why no client is answered meanwhile.
func TestHTTPAcceptErrorsAreInTheLog(t *testing.T) {
	s := startRelay(t, nil)
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	flaky := &rtmpFlaky{Listener: plain, errs: []error{syscall.EMFILE}}
	accepting := make(chan error)
	go func() { accepting <- s.web.Serve(flaky) }()
	answer, err := http.Get("http://" + plain.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	s.log.line(t, "level=WARN", "cannot accept", "listener=http", "too many open files")
	plain.Close()
	if err := <-accepting; err == nil {
		t.Error("a listener that fails for good is no error")
	}
}
