package aio

import (
	"errors"
	"fmt"
	"syscall"
)

// newDriver makes the driver that o asks for, and says why it is that one.
func newDriver(o Options) (d driver, kind Driver, reason string, err error) {
	switch o.Driver {
	case Std:
		return newStd(o), Std, "asked for by Options.Driver", nil
	case Auto, Epoll, Kqueue:
	default:
		return nil, 0, "", fmt.Errorf("%w: no driver has the number %d", ErrUnsupported, int(o.Driver))
	}
	if o.Driver != Auto && o.Driver != systemPoller {
		return nil, 0, "", fmt.Errorf("%w: %v is not there on this system, Auto and Std are", ErrUnsupported, o.Driver)
	}
	if systemPoller == Std {
		return newStd(o), Std, "this system has neither epoll nor kqueue", nil
	}
	d, err = newReadiness(o)
	switch {
	case err == nil && o.Driver == Auto:
		return d, systemPoller, fmt.Sprintf("what this system has: %v", systemPoller), nil
	case err == nil:
		return d, systemPoller, "asked for by Options.Driver", nil
	case o.Driver == Auto && (errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EPERM)):
		// A sandbox may forbid it. Other reasons, like a lack of descriptors, are
		// nothing that goroutines would mend.
		return newStd(o), Std, fmt.Sprintf("the system refused %v: %v", systemPoller, err), nil
	default:
		return nil, 0, "", fmt.Errorf("aio: the system refused %v: %w", systemPoller, err)
	}
}
