//go:build unix

package aio_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/sluice-go/sluice/aio"
)

func init() {
	suite = append(suite,
		behaviour{name: "errors of the kernel are those of package net", run: kernelErrors, on: []string{"tcp", "tls"}},
		behaviour{name: "errors match those of package net", run: ownErrors, on: everyConn},
	)
}

// wantNetError checks that err is what a method of a net.Conn would return.
func (f *fixture) wantNetError(err error, verb string) {
	f.Helper()
	var inNet *net.OpError
	var inCall *os.SyscallError
	switch {
	case !isReset(err):
		f.Errorf("%s: %v, want a reset", verb, err)
	case !errors.As(err, &inNet) || !errors.As(err, &inCall):
		f.Errorf("%s: %T, %v, want a net.OpError around an os.SyscallError", verb, err, err)
	case inNet.Op != verb || inNet.Net != "tcp" || inNet.Addr == nil || inNet.Source == nil || inNet.Timeout():
		f.Errorf("%s: %+v", verb, inNet)
	case !strings.HasPrefix(inCall.Syscall, verb): // writev
		f.Errorf("%s: %v", verb, err)
	}
}

// kernelErrors are of operations that wait, and of those that are carried out at once.
func kernelErrors(f *fixture) {
	near, far := f.narrowPair()
	read, write := f.read(near, 10), f.write(near, f.bytes(tooMuch))
	f.park()
	if _, err := io.ReadFull(far, make([]byte, 1)); err != nil {
		f.Fatal(err)
	}
	f.reset(socketOf(far))
	f.wait(read, write)
	f.wantNetError(write.res.Error, "write")
	if read.res.Error != io.EOF { // the kernel says it once
		f.wantNetError(read.res.Error, "read")
	}
	for range 3 {
		late := f.write(near, []byte("late"))
		f.wait(late)
		f.wantNetError(late.res.Error, "write")
	}
	near, far = f.pair()
	waits := f.read(near, 10)
	f.park()
	f.reset(socketOf(far))
	f.wait(waits)
	f.wantNetError(waits.res.Error, "read")
	if f.network == "tls" {
		return
	}
	s, err := f.w.WriteMany("many", []net.Conn{near}, f.bufOf([]byte("x")), aio.SlowQueue)
	if err != nil || s.Failed+s.Queued != 1 {
		f.Fatalf("%+v, %v", s, err)
	}
	results, err := f.next()
	if err != nil || len(results) != 1 {
		f.Fatalf("%d results, %v", len(results), err)
	}
	f.wantNetError(results[0].Error, "write")
}

// ownErrors can be looked for by the names that programs know, and by their own.
func ownErrors(f *fixture) {
	near, far := f.pair()
	past := f.readTimeout(near, 10, time.Now())
	f.wait(past)
	f.wantError(past, aio.ErrDeadline)
	f.wantError(past, os.ErrDeadlineExceeded)
	var timeout net.Error
	if !errors.As(past.res.Error, &timeout) || !timeout.Timeout() {
		f.Errorf("%v is no timeout", past.res.Error)
	}
	if err := far.Close(); err != nil {
		f.Fatal(err)
	}
	end := f.read(near, 10)
	f.wait(end)
	f.wantError(end, io.EOF)
	waits := f.read(f.idleConn(), 10)
	f.free(waits.conn)
	f.wait(waits)
	f.wantError(waits, io.ErrClosedPipe)
	if !errors.Is(aio.ErrConnClosed, net.ErrClosed) {
		f.Error("ErrConnClosed is not net.ErrClosed")
	}
	for _, err := range []error{aio.ErrWatcherClosed, aio.ErrQueueFull, aio.ErrUnsupported} {
		if errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
			f.Errorf("%v is that of another cause", err)
		}
	}
}
