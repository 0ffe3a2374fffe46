//go:build !linux

package proc

// A SyscallCount counts the system calls of a process. There is none here.
type SyscallCount struct{}

// CountSyscalls returns an error that wraps errors.ErrUnsupported.
func CountSyscalls(pid int) (*SyscallCount, error) { return nil, unsupported(pid) }

// Stop returns 0.
func (*SyscallCount) Stop() uint64 { return 0 }
