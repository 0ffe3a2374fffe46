package proc

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSystemCallsAreCounted(t *testing.T) {
	c, err := CountSyscalls(os.Getpid())
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	const calls = 5000
	done := make(chan struct{})
	go func() { // threads that come later count too
		defer close(done)
		runtime.LockOSThread()
		for range calls {
			unix.Getppid()
		}
	}()
	for range calls {
		unix.Getppid()
	}
	<-done
	if n := c.Stop(); n < 2*calls || n > 20*calls {
		t.Errorf("%d calls were counted of at least %d", n, 2*calls)
	}
}

func TestACountOfNobodyIsAnError(t *testing.T) {
	if _, err := CountSyscalls(1 << 30); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}
