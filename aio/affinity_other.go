//go:build unix && !linux && !aix && !solaris && !illumos

package aio

import "fmt"

// affinity is not to be had on this system.
type affinity struct{}

func (p *readiness) pin(int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrConnClosed // gaio's word for it
	}
	return fmt.Errorf("%w: this system does not pin threads to processors", ErrUnsupported)
}

func (p *readiness) pinThread()   {}
func (p *readiness) unpinThread() {}
