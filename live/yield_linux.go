package live

import (
	"encoding/binary"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// A yielder lets other goroutines run, also those whose connections have become ready.
// runtime.Gosched alone runs those that are runnable, and the runtime polls the network only
// when none is, or every 10 ms. So the yielder waits for an event of its own, behind which all
// that came earlier is reported too.
type yielder struct {
	file *os.File // an eventfd; nil before the first yield, and when there is none
	raw  syscall.RawConn
	wait func(fd uintptr) bool
	sent bool
	bad  bool    // there is no eventfd
	one  [8]byte // what is written
}

// yield is called by one goroutine at a time.
func (y *yielder) yield() {
	if y.file == nil && !y.bad {
		y.bad = !y.open()
	}
	if y.file != nil {
		y.sent = false
		y.bad = y.raw.Read(y.wait) != nil
	}
	runtime.Gosched() // those that were reported are runnable now
}

func (y *yielder) open() bool {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return false
	}
	file := os.NewFile(uintptr(fd), "eventfd")
	raw, err := file.SyscallConn()
	if err != nil {
		file.Close()
		return false
	}
	y.file, y.raw, y.wait = file, raw, y.signal
	binary.NativeEndian.PutUint64(y.one[:], 1)
	return true
}

// signal makes the eventfd ready when it is called first, and reports whether it was called
// before. Each write is an event, whether the one before was read or not.
func (y *yielder) signal(fd uintptr) bool {
	if y.sent {
		return true
	}
	y.sent = true
	_, err := unix.Write(int(fd), y.one[:])
	return err != nil
}

func (y *yielder) close() {
	if y.file != nil {
		y.file.Close()
		y.file = nil
	}
}
