//go:build linux

package aio_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// faultEcho echoes what it reads, by own buffers, until the watcher is closed or
// an error comes that is not the end of a connection. Connections that have
// ended are freed.
func faultEcho(w *aio.Watcher) error {
	for {
		results, err := w.WaitIO()
		if err == aio.ErrWatcherClosed {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range results {
			r := &results[i]
			switch {
			case r.Error == io.EOF || errors.Is(r.Error, syscall.ECONNRESET) || errors.Is(r.Error, syscall.EPIPE) || r.Error == io.ErrClosedPipe:
				err = w.Free(r.Conn)
			case r.Error != nil:
				err = r.Error
			case r.Operation == aio.OpRead:
				err = w.Write(nil, r.Conn, r.Buffer[:r.Size])
			default:
				err = w.Read(nil, r.Conn, r.Buffer[:cap(r.Buffer)])
			}
			if err != nil && err != aio.ErrConnClosed && err != aio.ErrWatcherClosed {
				return err
			}
		}
	}
}

// startFaultEcho starts faultEcho on a new watcher, until the test ends.
func startFaultEcho(t *testing.T, driver aio.Driver) *aio.Watcher {
	t.Helper()
	w, err := aio.NewWatcherOptions(aio.Options{Driver: driver})
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- faultEcho(w) }()
	t.Cleanup(func() {
		_ = w.Close()
		if err := <-stopped; err != nil {
			t.Errorf("echo: %v", err)
		}
	})
	return w
}

// A wait in epoll is interrupted by every signal, whatever SA_RESTART says.
func TestSignalsInterruptNothing(t *testing.T) {
	onEachDriver(t, func(t *testing.T, driver aio.Driver) {
		w := startFaultEcho(t, driver)
		maker := newPairMaker(t, "tcp")
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGUSR1, syscall.SIGURG)
		defer signal.Stop(signals)
		stop := make(chan struct{})
		var sending sync.WaitGroup
		sent := 0
		sending.Go(func() {
			// Not without a pause: on one processor nothing else would run.
			pause := time.NewTicker(200 * time.Microsecond)
			defer pause.Stop()
			for {
				select {
				case <-stop:
					return
				case <-pause.C:
					sent += signalThreads(t)
				}
			}
		})
		var clients sync.WaitGroup
		for i := range 8 {
			server, client := maker.mustPair(t)
			if err := w.Read(nil, server, make([]byte, 4<<10)); err != nil {
				t.Fatal(err)
			}
			clients.Go(func() {
				if err := echoStream(client, i, weigh(800)); err != nil {
					t.Errorf("client %d: %v", i, err)
				}
			})
		}
		clients.Wait()
		close(stop)
		sending.Wait()
		if sent < 10 {
			t.Errorf("only %d signals were sent", sent)
		}
		t.Logf("%d signals", sent)
	})
}

// signalThreads sends a signal to every thread of this process.
func signalThreads(t *testing.T) int {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Error(err)
		return 0
	}
	sent := 0
	for i, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			continue
		}
		s := syscall.SIGUSR1
		if i%2 == 0 {
			s = syscall.SIGURG
		}
		// A thread may have ended since it was listed.
		if _, _, e := syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(tid), uintptr(s)); e == 0 {
			sent++
		}
	}
	return sent
}

// echoStream sends messages of growing size and looks at what comes back.
func echoStream(client net.Conn, id, messages int) error {
	key, off := upstream(id), 0
	for m := range messages {
		p := make([]byte, 1+m*37%3000)
		key.fill(p, off)
		if _, err := client.Write(p); err != nil {
			return err
		}
		if _, err := io.ReadFull(client, p); err != nil {
			return err
		}
		if i := key.differs(p, off); i >= 0 {
			return fmt.Errorf("byte %d of the stream is another", off+i)
		}
		off += len(p)
	}
	return nil
}

// Writes that go out in hundreds of pieces: whole, in order, by every way to
// write, with more parts than one call takes.
func TestTinySendBuffers(t *testing.T) {
	onEachDriver(t, func(t *testing.T, driver aio.Driver) {
		for _, network := range socketKinds() {
			t.Run(network, func(t *testing.T) { tinySendBuffer(t, driver, network) })
		}
	})
}

func tinySendBuffer(t *testing.T, driver aio.Driver, network string) {
	alloc := mem.New(mem.Options{Name: "parts"})
	sluicetest.NoLeaks(t, alloc)
	w, err := aio.NewWatcherOptions(aio.Options{Driver: driver})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	server, client := newPairMaker(t, network).mustPair(t)
	if err := server.(interface{ SetWriteBuffer(int) error }).SetWriteBuffer(1); err != nil {
		t.Fatal(err)
	}
	const size, parts = 300_000, 3000
	stream := make([]byte, 6*size)
	downstream(9).fill(stream, 0)
	counted := func(p []byte) mem.Buf {
		b := alloc.Get(len(p))
		copy(b.Bytes(), p)
		return b
	}
	off, submitted := 0, 0
	next := func(n int) []byte {
		off += n
		return stream[off-n : off]
	}
	did := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		submitted++
	}
	for range 2 {
		did(w.Write(nil, server, next(size)))
		did(w.WriteBuf(nil, server, counted(next(size)), time.Time{}))
		m := new(mem.Memory)
		for range parts {
			m.Append(counted(next(size / parts)))
		}
		did(w.WriteMemory(nil, server, m, time.Time{}))
	}
	got := make([]byte, len(stream))
	read := make(chan error, 1)
	go func() {
		_, err := io.ReadFull(client, got)
		read <- err
	}()
	overdue := time.AfterFunc(longEnough, func() { _ = w.Close() })
	defer overdue.Stop()
	for done := 0; done < submitted; {
		results, err := w.WaitIO()
		if err != nil {
			t.Fatalf("after %d of %d writes: %v", done, submitted, err)
		}
		for i := range results {
			if r := &results[i]; r.Error != nil || r.Size != size {
				t.Fatalf("write %d: %d bytes, %v", done, r.Size, r.Error)
			}
			done++
		}
	}
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, stream) {
		t.Fatalf("byte %d is another", downstream(9).differs(got, 0))
	}
}

// Peers that reset all at once, while others go on: every operation ends, and
// nothing is left.
func TestResetStorms(t *testing.T) {
	onEachDriver(t, func(t *testing.T, driver aio.Driver) {
		before := openFiles(t)
		w := startFaultEcho(t, driver)
		maker := newPairMaker(t, "tcp")
		steady, calm := maker.mustPair(t)
		if err := w.Read(nil, steady, make([]byte, 4<<10)); err != nil {
			t.Fatal(err)
		}
		going := make(chan error, 1)
		go func() { going <- echoStream(calm, 77, weigh(1500)) }()
		big := make([]byte, 1<<20)
		for range 5 {
			var clients []*net.TCPConn
			for range 60 {
				server, client := maker.mustPair(t)
				clients = append(clients, client.(*net.TCPConn))
				for range 3 {
					// A reset may be there before all of it is submitted.
					if err := w.Read(nil, server, make([]byte, 100)); err != nil && err != aio.ErrConnClosed {
						t.Fatal(err)
					}
				}
				if err := w.Write(nil, server, big); err != nil && err != aio.ErrConnClosed {
					t.Fatal(err)
				}
			}
			var storm sync.WaitGroup
			for _, c := range clients {
				storm.Go(func() {
					_, _ = c.Write(make([]byte, 50))
					_ = c.SetLinger(0)
					_ = c.Close()
				})
			}
			storm.Wait()
		}
		if err := <-going; err != nil {
			t.Errorf("a connection beside the storm: %v", err)
		}
		_ = calm.Close()
		yieldUntil(t, "all connections to end", func() bool {
			s := w.Stats()
			return s.Pending == 0 && s.Conns == 0
		})
		_ = w.Close()
		_ = maker.l.Close()
		yieldUntil(t, "all descriptors to be closed", func() bool { return openFiles(t) <= before })
	})
}
