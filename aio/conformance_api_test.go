package aio_test

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
)

func init() {
	suite = append(suite,
		behaviour{name: "a driver has a name and a reason", run: driverReason, on: onlyTCP},
		behaviour{name: "Options that make no sense", run: badOptions, on: onlyTCP},
		behaviour{name: "the figures add up", run: figures, on: everyConn},
	)
}

func driverReason(f *fixture) {
	kind, reason := f.w.Driver()
	if kind != f.driver || reason == "" {
		f.Errorf("Driver is %v, because %q; %v was asked for", kind, reason, f.driver)
	}
}

func badOptions(f *fixture) {
	for _, o := range []aio.Options{{BufferSize: -1}, {QueueLimit: -1}} {
		o.Driver = f.driver
		f.wantPanic("aio: ", func() { _, _ = aio.NewWatcherOptions(o) })
	}
	f.wantPanic("aio: ", func() { _, _ = aio.NewWatcherSize(-1) })
}

// figures compares Stats with what was done, when all is quiet. What every
// fixture checks at its end is not repeated here.
func figures(f *fixture) {
	const n, rounds, size = 5, 20, 300
	near, far := f.pairs(n)
	var idle []*op
	for range rounds {
		var ops []*op
		var received []<-chan struct{}
		for i := range n {
			data := f.bytes(size)
			f.send(far[i], data)
			received = append(received, f.receive(far[i], data))
			ops = append(ops, f.readFull(near[i], size, time.Time{}), f.write(near[i], data))
		}
		f.wait(ops...)
		for _, r := range received {
			<-r
		}
	}
	for i := range n {
		idle = append(idle, f.read(near[i], 10))
	}
	s := f.w.Stats()
	want := aio.Stats{
		Conns: n, Pending: n, Reads: n * rounds, Writes: n * rounds,
		BytesRead: n * rounds * size, BytesWritten: n * rounds * size,
		ReadCalls: s.ReadCalls, WriteCalls: s.WriteCalls, WaitCalls: s.WaitCalls, Delegated: n,
	}
	if s != want {
		f.Errorf("Stats are\n%+v, want\n%+v", s, want)
	}
	if s.WriteCalls < n || s.ReadCalls < n {
		f.Errorf("%d calls that read and %d that write moved all that", s.ReadCalls, s.WriteCalls)
	}
	if (s.WaitCalls > 0) != (f.driver != aio.Std) {
		f.Errorf("%d calls that ask who is ready", s.WaitCalls)
	}
	for i := range n {
		f.free(near[i])
	}
	f.wait(idle...)
	if s := f.w.Stats(); s.Conns != 0 || s.Pending != 0 || s.Freed != n {
		f.Errorf("all connections are freed: %+v", s)
	}
}

// TestConformanceAuto: the choice is one of the drivers that the suite runs on.
func TestConformanceAuto(t *testing.T) {
	for _, make := range []func() (*aio.Watcher, error){
		aio.NewWatcher,
		func() (*aio.Watcher, error) { return aio.NewWatcherSize(4096) },
		func() (*aio.Watcher, error) { return aio.NewWatcherOptions(aio.Options{}) },
	} {
		w, err := make()
		if err != nil {
			t.Fatal(err)
		}
		kind, reason := w.Driver()
		if kind == aio.Auto || reason == "" {
			t.Errorf("the driver is %v, because %q", kind, reason)
		}
		t.Logf("%v: %s", kind, reason)
		requireDriver(t, kind)
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := aio.NewWatcherOptions(aio.Options{Driver: 99}); !errors.Is(err, aio.ErrUnsupported) {
		t.Errorf("a driver that does not exist: %v, want ErrUnsupported", err)
	}
}

// TestConformanceDefaultWatcher goes through the functions of the package. There
// is one default watcher in a process, and this is the one place that waits on it.
func TestConformanceDefaultWatcher(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	far, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = far.Close() }()
	near, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	var peer sync.WaitGroup
	defer peer.Wait()
	peer.Go(func() {
		b := make([]byte, 4)
		for range 2 {
			if _, err := far.Read(b); err != nil {
				t.Error(err)
			}
			if _, err := far.Write(b); err != nil {
				t.Error(err)
			}
		}
	})
	if err := far.SetDeadline(time.Now().Add(eventTimeout)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4)
	for _, step := range []struct {
		what   string
		submit func() error
		want   error
	}{
		{"Write", func() error { return aio.Write("Write", near, []byte("ping")) }, nil},
		{"Read", func() error { return aio.Read("Read", near, buf) }, nil},
		{"WriteTimeout", func() error { return aio.WriteTimeout("WriteTimeout", near, []byte("ping"), never()) }, nil},
		{"ReadTimeout", func() error { return aio.ReadTimeout("ReadTimeout", near, nil, never()) }, nil},
		{"late", func() error { return aio.ReadTimeout("late", near, buf, time.Now()) }, aio.ErrDeadline},
	} {
		if err := step.submit(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		results, err := defaultWait()
		if err != nil || len(results) != 1 || results[0].Context != step.what || !errors.Is(results[0].Error, step.want) {
			t.Fatalf("%s: %+v, %v", step.what, results, err)
		}
	}
	if err := aio.Free(near); err != nil {
		t.Errorf("Free: %v", err)
	}
	if err := aio.Read("after Free", near, nil); err != nil {
		t.Errorf("Read after Free: %v, want a completion", err)
	}
	results, err := defaultWait()
	if err != nil || len(results) != 1 || results[0].Context != "after Free" || results[0].Error != aio.ErrConnClosed {
		t.Errorf("Read after Free: %+v, %v, want ErrConnClosed", results, err)
	}
}

// defaultWait is WaitIO of the package, within bounds.
func defaultWait() ([]aio.OpResult, error) {
	result := make(chan waited, 1)
	go func() {
		r, err := aio.WaitIO()
		result <- waited{r, err}
	}()
	select {
	case r := <-result:
		return r.results, r.err
	case <-time.After(eventTimeout):
		return nil, errors.New("WaitIO has not returned")
	}
}
