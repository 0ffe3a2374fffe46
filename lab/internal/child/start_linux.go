package child

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// starting is a goroutine locked to its own thread for the life of this process.
// A child is killed when the thread that started it ends, and a thread locked
// by some other goroutine ends with that goroutine.
var starting = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// start starts a process that is asked to end when this one ends, in whatever way,
// and keeps it out of the terminal's process group: an interrupt is for this one,
// which then ends its children. The reading ends of its pipes it holds itself too, so
// that they do not break before it has tidied up. It may run on the processors of
// the calling thread.
func start(cmd *exec.Cmd, pipes ...*os.File) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	for _, pipe := range pipes {
		held, err := again(pipe)
		if err != nil {
			return err
		}
		defer held.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, held)
	}
	var processors unix.CPUSet
	if err := unix.SchedGetaffinity(0, &processors); err != nil {
		return err
	}
	started := make(chan error)
	starting() <- func() {
		if err := unix.SchedSetaffinity(0, &processors); err != nil {
			started <- err
			return
		}
		started <- cmd.Start()
	}
	return <-started
}

// again opens a pipe once more: to hand over the same open file would make it blocking, so that it has no
// deadlines any more.
func again(pipe *os.File) (held *os.File, err error) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return nil, err
	}
	if failed := raw.Control(func(fd uintptr) {
		held, err = os.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
	}); failed != nil {
		return nil, failed
	}
	return held, err
}

// endGroup waits for a process to end and kills what it left in its process group: strace,
// for one, has a process of its own for a moment when it starts. The process is not yet
// reaped, so that its number is still that of no other group.
func endGroup(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	unix.Kill(-pid, unix.SIGKILL)
}
