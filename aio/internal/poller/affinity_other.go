//go:build unix && !linux && !aix && !solaris && !illumos

package poller

import (
	"fmt"

	"github.com/sluice-go/sluice/aio/internal/op"
)

// Affinity is not available on this system.
type Affinity struct{}

// Want returns ErrUnsupported.
func (*Affinity) Want(int) error {
	return fmt.Errorf("%w: this system does not pin threads to processors", op.ErrUnsupported)
}

// Pin does nothing.
func (*Affinity) Pin() {}

// Unpin does nothing.
func (*Affinity) Unpin() {}
