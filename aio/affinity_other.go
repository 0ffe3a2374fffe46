//go:build unix && !linux && !aix && !solaris && !illumos

package aio

import "fmt"

// affinity is not to be had on this system.
type affinity struct{}

func (p *readiness) pin(int) error {
	return fmt.Errorf("%w: this system does not pin threads to processors", ErrUnsupported)
}

func (p *readiness) pinThread()   {}
func (p *readiness) unpinThread() {}
