//go:build !windows && (!unix || solaris || aix)

package wal

import (
	"errors"
	"fmt"
	"io"
)

// lockDir fails: without a lock that ends with the process, two could write.
func lockDir(dir string) (io.Closer, error) {
	return nil, fmt.Errorf("wal: cannot lock %s on this system: %w", dir, errors.ErrUnsupported)
}
