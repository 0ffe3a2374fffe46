//go:build !unix || aix || solaris || illumos

package aio

// systemPoller is what there is in place of epoll and kqueue.
const systemPoller = Std

// newReadiness is not called where systemPoller is Std.
func newReadiness(o Options) (driver, error) { return nil, ErrUnsupported }
