package scenarios

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
)

// childLife is how long a child may live in any case: longer than the longest
// measurement, so that nothing is left behind should its parent be stopped in
// a way that leaves the pipe open.
const childLife = 30 * time.Minute

func lineOf(c *child.Process) (string, error) {
	s, err := c.Line(context.Background(), 0)
	if err != nil {
		return "", fmt.Errorf("scenarios: %w", err)
	}
	return s, nil
}

func listenLocal() (*net.TCPListener, error) {
	return net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
}

func loopback() (here, there *net.TCPConn, err error) {
	l, err := listenLocal()
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	return connected(l)
}

func connected(l *net.TCPListener) (here, there *net.TCPConn, err error) {
	if there, err = net.DialTCP("tcp4", nil, l.Addr().(*net.TCPAddr)); err != nil {
		return nil, nil, err
	}
	if here, err = l.AcceptTCP(); err != nil {
		there.Close()
	}
	return here, there, err
}

func acceptFrom(l *net.TCPListener, c *child.Process) (*net.TCPConn, error) {
	l.SetDeadline(time.Now().Add(child.Within))
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-c.Gone():
			l.SetDeadline(time.Unix(1, 0))
		case <-stop:
		}
	}()
	conn, err := l.AcceptTCP()
	if err != nil {
		return nil, fmt.Errorf("scenarios: waiting for the child's connection: %w (%w)", err, c.Why())
	}
	return conn, nil
}

// hungUp reports whether err is what a connection gives whose other end has
// closed: how a child's work usually ends.
func hungUp(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || (errors.As(err, &op) && !op.Timeout())
}
