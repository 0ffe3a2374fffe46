//go:build !unix

package aio_test

import (
	"net"
	"testing"
)

// bareClient connects to a loopback address. The connection is closed when the
// test ends.
func bareClient(t *testing.T, to *net.TCPAddr) (send func(p []byte) error) {
	t.Helper()
	conn, err := net.DialTCP("tcp", nil, to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return func(p []byte) error {
		_, err := conn.Write(p)
		return err
	}
}
