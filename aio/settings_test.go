package aio_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// A policy that there is not is a mistake, and no other name of the last or the first.
func TestUnknownPoliciesPanicWithWords(t *testing.T) {
	a := mem.New(mem.Options{})
	sluicetest.NoLeaks(t, a)
	w, err := aio.NewWatcherOptions(aio.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	b := a.Get(1)
	defer b.Release()
	var h aio.ConnHandler[int]
	for _, number := range []int{-1, 7} {
		for name, call := range map[string]func(){
			"QueuePolicy": func() { _, _ = aio.NewWatcherOptions(aio.Options{QueuePolicy: aio.QueuePolicy(number)}) },
			"SlowPolicy":  func() { _, _ = w.WriteMany(nil, nil, b, aio.SlowPolicy(number)) },
			"WriteMany":   func() { h.WriteMany(nil, b, aio.SlowPolicy(number)) },
		} {
			func() {
				defer func() {
					if p := fmt.Sprint(recover()); !strings.Contains(p, "aio: ") || !strings.Contains(p, fmt.Sprintf("Policy %d", number)) {
						t.Errorf("%s %d: panic %v", name, number, p)
					}
				}()
				call()
			}()
		}
	}
}

// A connection of datagrams that was freed is known to be, on each driver.
func TestWritesToFreedDatagramsAreRefused(t *testing.T) {
	for _, d := range drivers {
		t.Run(d.driver.String(), func(t *testing.T) {
			requireDriver(t, d.driver)
			w, err := aio.NewWatcherOptions(aio.Options{Driver: d.driver})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			_, conn := datagrams(t)
			if err := w.Write(nil, conn, []byte("a")); err != nil {
				t.Fatal(err)
			}
			if _, err := w.WaitIO(); err != nil {
				t.Fatal(err)
			}
			if err := w.Free(conn); err != nil {
				t.Fatal(err)
			}
			if err := w.Write(nil, conn, []byte("b")); err != aio.ErrConnClosed {
				t.Errorf("Write after Free: %v, want %v", err, aio.ErrConnClosed)
			}
		})
	}
}

// The function that frees memory of the program may close the watcher, also when it is Close that
// ends the write.
func TestCloseWithinAFreeOfClose(t *testing.T) {
	for _, d := range drivers {
		t.Run(d.driver.String(), func(t *testing.T) {
			requireDriver(t, d.driver)
			if d.driver == aio.Std {
				t.Skip("a goroutine that Close waits for, up to 10 s, waits for Close there")
			}
			w, err := aio.NewWatcherOptions(aio.Options{Driver: d.driver})
			if err != nil {
				t.Fatal(err)
			}
			near, _ := tcpPair(t)
			freed := make(chan struct{})
			b := mem.Wrap(make([]byte, 16<<20), func() {
				_ = w.Close()
				close(freed)
			})
			if err := w.WriteBuf(nil, near, b, time.Time{}); err != nil {
				t.Fatal(err)
			}
			go func() { _ = w.Close() }()
			select {
			case <-freed:
			case <-time.After(10 * time.Second):
				t.Fatal("Close within the function of Wrap waits for the Close that called it")
			}
		})
	}
}
