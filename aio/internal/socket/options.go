//go:build unix && !aix && !solaris && !illumos

package socket

import (
	"net"
	"os"
	"reflect"
	"time"

	"golang.org/x/sys/unix"
)

// tcpOption is an option of TCP connections.
type tcpOption struct{ level, name int }

var (
	keepsAlive = tcpOption{unix.SOL_SOCKET, unix.SO_KEEPALIVE}
	noDelay    = tcpOption{unix.IPPROTO_TCP, unix.TCP_NODELAY}
)

// The keep-alive of package net, unless the program has set another: after 15 s of silence, as often
// between probes, 9 of them.
const (
	keepAlive       = 15
	keepAliveProbes = 9
)

// setOptions sets on a listening socket what each connection of l has from Accept, the mark last.
func setOptions(fd int, l *net.TCPListener) error {
	if c := keepAliveOf(l); c.Enable {
		if err := keepsAlive.set(fd, 1); err != nil {
			return err
		}
		values := [...]int{seconds(c.Idle), seconds(c.Interval), c.Count}
		if c.Count == 0 {
			values[2] = keepAliveProbes
		}
		for i, name := range keepAliveTimes {
			if values[i] < 0 {
				continue // the program leaves it as it is
			}
			if err := (tcpOption{unix.IPPROTO_TCP, name}).set(fd, values[i]); err != nil {
				return err
			}
		}
	}
	return noDelay.set(fd, 1)
}

// seconds is an interval of a KeepAliveConfig as the kernel has it.
func seconds(d time.Duration) int {
	switch {
	case d == 0:
		return keepAlive
	case d < 0:
		return -1
	}
	return int((d + time.Second - 1) / time.Second)
}

// keepAliveOf returns what the ListenConfig of l says, which only its Accept knows.
func keepAliveOf(l *net.TCPListener) net.KeepAliveConfig {
	c := net.KeepAliveConfig{Enable: true}
	set := reflect.ValueOf(l).Elem().FieldByName("lc")
	if !set.IsValid() || set.Type() != reflect.TypeFor[net.ListenConfig]() {
		return c
	}
	if of := set.FieldByName("KeepAliveConfig"); of.FieldByName("Enable").Bool() {
		c.Idle = time.Duration(of.FieldByName("Idle").Int())
		c.Interval = time.Duration(of.FieldByName("Interval").Int())
		c.Count = int(of.FieldByName("Count").Int())
		return c
	}
	c.Idle = time.Duration(set.FieldByName("KeepAlive").Int())
	c.Enable = c.Idle >= 0
	return c
}

// copyOptions sets on a connection what setOptions has set on its listener, the mark last.
func copyOptions(from, to int) error {
	options := []tcpOption{keepsAlive}
	for _, name := range keepAliveTimes {
		options = append(options, tcpOption{unix.IPPROTO_TCP, name})
	}
	for _, o := range append(options, noDelay) {
		value, err := unix.GetsockoptInt(from, o.level, o.name)
		if err != nil {
			return os.NewSyscallError("getsockopt", err)
		}
		if err := o.set(to, value); err != nil {
			return err
		}
	}
	return nil
}

func (o tcpOption) set(fd, value int) error {
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, o.level, o.name, value))
}

// marked reports whether a socket has the option that setOptions sets last: no delay. A
// listener that had it before was marked by its program, which says nothing of the rest.
func marked(fd int) bool {
	on, err := unix.GetsockoptInt(fd, noDelay.level, noDelay.name)
	return err == nil && on != 0
}
