package relay

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// watch adds a descriptor to an epoll for what comes in; its events carry tag.
func watch(ep, fd, tag int) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(tag)}))
}

// connected returns a connection.
func connected(to unix.Sockaddr) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	wait := unix.NsecToTimeval(patience.Nanoseconds())
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
		// Closed with a reset, no trace of the connection stays in the kernel
		// for minutes.
		unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &wait), // of connect
	)
	if err == nil {
		for err = unix.Connect(fd, to); err == unix.EINTR; {
			if err = unix.Connect(fd, to); err == unix.EISCONN {
				err = nil
			}
		}
		err = os.NewSyscallError("connect", err)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// processCPU is the user and system time of all threads of another process,
// to the nanosecond: /proc has it in hundredths of a second only. The number of
// the clock is what clock_getcpuclockid(3) makes of that of the process.
func processCPU(pid int) (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &t); err != nil {
		return 0, fmt.Errorf("relay: the processor time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// ownCPU is the same of this process.
func ownCPU() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) != nil {
		return 0 // it fails on bad arguments only
	}
	return time.Duration(t.Nano())
}

// resident returns the bytes of a process that are in memory.
func resident(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, found := bytes.Cut(status, []byte("VmRSS:"))
	number, _, ended := bytes.Cut(rest, []byte(" kB"))
	if !found || !ended {
		return 0, fmt.Errorf("relay: no resident size in %.60q", status)
	}
	kib, err := strconv.ParseInt(string(bytes.TrimSpace(number)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("relay: the resident size: %w", err)
	}
	return kib << 10, nil
}

// Supported says why nothing can be measured on this machine: an error that
// wraps errors.ErrUnsupported, or nil.
func Supported() error { return nil }
