package child

import (
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
	cmd.ExtraFiles = append(cmd.ExtraFiles, pipes...)
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
