//go:build !linux

package proc

import (
	"errors"
	"fmt"
)

func unsupported(pid int) error {
	return fmt.Errorf("proc: what the process %d uses cannot be read on this system: %w", pid, errors.ErrUnsupported)
}
