package scenarios

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/lab/internal/echobench"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/rawio"
)

var _ = register(181, func() []lab.Scenario {
	message, events := make([]byte, 64), make([]unix.EpollEvent, 16)
	// want is the error of a call that did not do what it was made for.
	want := func(n, wanted int, errno unix.Errno) error {
		if n == wanted && errno == 0 {
			return nil
		}
		return fmt.Errorf("scenarios: a call returned %d: %w", n, errno)
	}
	return []lab.Scenario{machineScenario("syscalls", "system calls of a server, on loopback TCP and on an epoll", "call", 20_000,
		call("getppid", "into the kernel and back, nothing else", func(_, _, _ int) error {
			unix.Getppid()
			return nil
		}),
		call("recv-nothing", "recv on a socket on which nothing waits", func(_, near, _ int) error {
			n, errno := rawio.Recv(near, message)
			if errno == unix.EAGAIN {
				return nil
			}
			return want(n, -1, errno)
		}),
		call("send-recv", "send of 64 bytes, and their recv at the other end", func(_, near, far int) error {
			n, errno := rawio.Send(near, message)
			if err := want(n, len(message), errno); err != nil {
				return err
			}
			n, errno = rawio.Recv(far, message)
			return want(n, len(message), errno)
		}),
		call("epoll_wait", "epoll_wait that finds an event", func(ep, _, _ int) error {
			n, err := rawio.Poll(ep, events)
			return cmp.Or(err, want(n, 1, 0))
		}),
		call("epoll_ctl", "epoll_ctl that changes what is waited for", func(ep, near, _ int) error {
			return unix.EpollCtl(ep, unix.EPOLL_CTL_MOD, near, &unix.EpollEvent{Events: unix.EPOLLOUT, Fd: int32(near)})
		}),
		machineVariant("wake-up", "a thread on another processor wakes from a read of an eventfd, and wakes the first: both", wakeUps))}
})

// call makes a variant of a call on an epoll with one end of a connection, which is
// ready to be written to, and on both ends.
func call(name, about string, do func(ep, near, far int) error) lab.Variant {
	return machineVariant(name, about, func() (lab.Runner, error) {
		l, err := listenLocal()
		if err != nil {
			return nil, err
		}
		defer l.Close()
		here, there, err := connected(l)
		if err != nil {
			return nil, err
		}
		ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
		end := func() error { return errors.Join(unix.Close(ep), here.Close(), there.Close()) }
		fds := [2]int{}
		for i, conn := range []*net.TCPConn{here, there} {
			fd, fdErr := rawio.Descriptor(conn)
			fds[i], err = fd, errors.Join(err, fdErr)
		}
		if err == nil {
			err = unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fds[0], &unix.EpollEvent{Events: unix.EPOLLOUT, Fd: int32(fds[0])})
		}
		if err != nil {
			return nil, errors.Join(os.NewSyscallError("epoll", err), end())
		}
		return runner{func(ops int) (lab.Sample, error) {
			for range ops {
				if err := do(ep, fds[0], fds[1]); err != nil {
					return lab.Sample{}, err
				}
			}
			return lab.Sample{Check: uint64(ops)}, nil
		}, end}, nil
	})
}

func wakeUps() (lab.Runner, error) {
	cpus, err := echobench.Processors()
	if err != nil {
		return nil, err
	}
	var bells [2]int
	for i := range bells {
		if bells[i], err = unix.Eventfd(0, unix.EFD_CLOEXEC); err != nil {
			return nil, os.NewSyscallError("eventfd", err)
		}
	}
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	c := newWorkerPool(2, func(i, n int) error {
		_, err := echobench.OnProcessor(cpus[i], func() (got [8]byte, err error) {
			for k := 0; k < 2*n && err == nil; k++ {
				if k%2 == i {
					_, err = unix.Write(bells[1-i], one[:])
				} else {
					_, err = unix.Read(bells[i], got[:])
				}
			}
			return got, os.NewSyscallError("eventfd", err)
		})
		return err
	})
	return runner{func(ops int) (lab.Sample, error) {
		c.begin(ops)
		return lab.Sample{Check: uint64(ops)}, c.wait()
	}, func() error { return errors.Join(c.stop(), unix.Close(bells[0]), unix.Close(bells[1])) }}, nil
}
