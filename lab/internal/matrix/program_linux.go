package matrix

import (
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// starting has a thread of its own for as long as this process lives: what is
// started is killed when the thread that did it ends, which a thread that
// somebody locked does with its goroutine.
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
// which then ends its targets. The reading ends of its pipes it holds itself too, so
// that they do not break before it has tidied up.
func start(cmd *exec.Cmd, pipes ...*os.File) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	cmd.ExtraFiles = pipes
	started := make(chan error)
	starting() <- func() { started <- cmd.Start() }
	return <-started
}
