//go:build !unix

package scenarios

import (
	"errors"
	"fmt"
	"net"
)

func openFiles() (int, error) {
	return 0, fmt.Errorf("scenarios: waiting in RawConn.Read: %w", errors.ErrUnsupported)
}

func serveRaw(*net.TCPConn, func()) error { return errors.ErrUnsupported }
