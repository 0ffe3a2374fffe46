package aio_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func init() {
	suite = append(suite,
		behaviour{name: "descriptors are not inherited", run: notInherited},
		behaviour{name: "a socket that was made blocking", run: madeBlocking, needs: delegates},
		behaviour{name: "urgent data in the stream", run: urgentData, on: onlyTCP},
		behaviour{name: "descriptors in the stream", run: passedDescriptors, on: []string{"unix"}},
	)
}

// notInherited looks at all descriptors of the process: a child that the program
// starts would keep connections open.
func notInherited(f *fixture) {
	near, _ := f.pairs(3)
	for _, c := range near {
		f.read(c, 1)
	}
	names, err := os.ReadDir("/proc/self/fdinfo")
	if err != nil {
		f.Skipf("the kernel does not tell: %v", err)
	}
	for _, name := range names {
		info, err := os.ReadFile("/proc/self/fdinfo/" + name.Name())
		target, _ := os.Readlink("/proc/self/fd/" + name.Name())
		fd, _ := strconv.Atoi(name.Name())
		if err != nil || fd <= 2 || !strings.HasPrefix(target, "socket:") && !strings.Contains(target, "eventpoll") {
			continue
		}
		var flags uint64
		for line := range strings.Lines(string(info)) {
			if _, err := fmt.Sscanf(line, "flags: %o", &flags); err == nil {
				break
			}
		}
		if flags&syscall.O_CLOEXEC == 0 {
			f.Errorf("descriptor %d, %s, would be inherited: flags %#o", fd, target, flags)
		}
	}
}

// madeBlocking has the program take a copy for another library and leave it
// blocking, as os.File.Fd does: a flag that all copies share. Nothing that the
// watcher does may block for it.
func madeBlocking(f *fixture) {
	near, far := f.narrowPair()
	copied, err := near.(interface{ File() (*os.File, error) }).File()
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = copied.Close() }()
	// A watcher that does block is let go, so that the test can fail.
	blocked := time.AfterFunc(eventTimeout/2, func() { _ = far.Close() })
	defer blocked.Stop()
	_ = copied.Fd()
	raw, err := copied.SyscallConn()
	if err != nil {
		f.Fatal(err)
	}
	if err := errors.Join(raw.Control(func(fd uintptr) { err = syscall.SetNonblock(int(fd), false) }), err); err != nil {
		f.Fatal(err)
	}
	data := f.bytes(tooMuch)
	o := f.read(near, 10)
	w := f.writeMemory(near, f.memoryOf(data, 100_000), time.Time{})
	f.park()
	f.sendAll(far, []byte("in"))
	f.wait(o)
	f.wantError(o, nil)
	more := f.read(near, 10)
	f.park()
	if !blocked.Stop() {
		f.Fatal("the watcher blocked")
	}
	f.receive(far, data)
	f.wait(w)
	f.wantError(w, nil)
	if more.done {
		f.Errorf("a read completed with %d bytes, %v", more.res.Size, more.res.Error)
	}
}

// urgentData: a read ends at an urgent byte, and what is behind it is there
// already. No event tells of it any more.
func urgentData(f *fixture) {
	stopShort(f, "beforebehind", func(far net.Conn) error {
		raw, err := far.(*net.TCPConn).SyscallConn()
		if err != nil {
			return err
		}
		return errors.Join(raw.Control(func(fd uintptr) { err = syscall.Sendto(int(fd), []byte("!"), syscall.MSG_OOB, nil) }), err)
	})
}

// passedDescriptors: a read ends behind bytes that descriptors have come with, also when these are not
// asked for.
func passedDescriptors(f *fixture) {
	stopShort(f, "before!behind", func(far net.Conn) error {
		_, _, err := far.(*net.UnixConn).WriteMsgUnix([]byte("!"), syscall.UnixRights(0), nil)
		return err
	})
}

// stopShort reads what has come in three parts, the middle one by mark, at which reads stop short.
func stopShort(f *fixture, want string, mark func(far net.Conn) error) {
	for i := range 4 {
		near, far := f.pair()
		var early *op
		if i%2 == 0 {
			early = f.read(near, 100)
			f.park()
		}
		f.sendAll(far, []byte("before"))
		if err := mark(far); err != nil {
			f.Fatal(err)
		}
		f.sendAll(far, []byte("behind"))
		var got []byte
		if early != nil {
			f.wait(early)
			got = slices.Clone(early.bytes())
		}
		for len(got) < len(want) {
			o := f.readTimeout(near, 100*(i/2), time.Now().Add(eventTimeout/2))
			f.wait(o)
			if o.res.Error != nil {
				f.Fatalf("%q was read before %v, of %q", got, o.res.Error, want)
			}
			got = append(got, o.bytes()...)
		}
		if string(got) != want {
			f.Errorf("%q was read, want %q", got, want)
		}
	}
}
