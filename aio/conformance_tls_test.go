package aio_test

import (
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/sluice-go/sluice/internal/testcert"
)

var errWrongBytes = errors.New("other bytes than were sent")

// tlsPair is a connection that has no descriptor of its own: what is on the
// socket is not what the program reads.
func tlsPair(f *fixture, sockets func() (near, far net.Conn)) (near, far net.Conn) {
	f.Helper()
	a, b := sockets()
	server := tls.Server(a, testcert.Server(f))
	client := tls.Client(b, testcert.Client(f))
	if err := b.SetDeadline(time.Now().Add(eventTimeout)); err != nil {
		f.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Handshake() }()
	if err := errors.Join(client.Handshake(), <-failed); err != nil {
		f.Fatal(err)
	}
	return server, client
}
