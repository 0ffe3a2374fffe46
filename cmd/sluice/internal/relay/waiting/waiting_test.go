package waiting

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func after(d time.Duration) chan struct{} {
	c := make(chan struct{})
	time.AfterFunc(d, func() { close(c) })
	return c
}

func TestFor(t *testing.T) {
	for _, c := range []struct {
		name       string
		d          time.Duration
		end, other func() chan struct{}
		passed     bool
		took       time.Duration
	}{
		{"without an end", time.Minute, nil, nil, true, time.Minute},
		{"no time", 0, nil, nil, true, 0},
		{"a time that has passed", -time.Minute, nil, nil, true, 0},
		{"no time, after the end", 0, closed, nil, false, 0},
		{"no time, after the other end", -time.Minute, nil, closed, false, 0},
		{"after the end", time.Minute, closed, nil, false, 0},
		{"the end comes", time.Minute, func() chan struct{} { return after(time.Second) }, nil, false, time.Second},
		{"the other end comes", time.Minute, func() chan struct{} { return after(2 * time.Minute) }, func() chan struct{} { return after(time.Second) }, false, time.Second},
		{"the end comes too late", time.Minute, func() chan struct{} { return after(2 * time.Minute) }, nil, true, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			var end, other chan struct{}
			if c.end != nil {
				end = c.end()
			}
			if c.other != nil {
				other = c.other()
			}
			began := time.Now()
			if passed := ForEither(c.d, end, other); passed != c.passed || time.Since(began) != c.took {
				t.Errorf("%s: %v after %v", c.name, passed, time.Since(began))
			}
		})
	}
}

func TestUntil(t *testing.T) {
	for _, c := range []struct {
		name                string
		works, limit, least time.Duration
		took                time.Duration
		cut                 bool
	}{
		{"ends in time", time.Second, time.Minute, 0, time.Second, false},
		{"is cut off", time.Minute, time.Second, 0, time.Second, true},
		{"has its moment after the context", 2 * time.Second, time.Second, 3 * time.Second, 2 * time.Second, false},
		{"is cut off after its moment", time.Minute, time.Second, 3 * time.Second, 3 * time.Second, true},
		{"is not kept for its moment", time.Second, time.Minute, 3 * time.Second, time.Second, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.limit)
			defer cancel()
			began := time.Now()
			over, err := Until(ctx, c.least, func() { For(c.works, nil) })
			if time.Since(began) != c.took || (err != nil) != c.cut || err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v after %v", c.name, err, time.Since(began))
			}
			if <-over; time.Since(began) != c.works {
				t.Errorf("%s: over after %v", c.name, time.Since(began))
			}
		})
	}
}

// Nothing of With is left when the context has ended, by whichever of the three it is.
func TestWith(t *testing.T) {
	for _, by := range []string{"the context", "the end", "cancel"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			end := make(chan struct{})
			joined, cancel := With(ctx, end)
			synctest.Wait()
			if joined.Err() != nil {
				t.Fatal("it begins done")
			}
			map[string]func(){"the context": stop, "the end": func() { close(end) }, "cancel": cancel}[by]()
			synctest.Wait() // a goroutine that is left fails the test
			if joined.Err() == nil {
				t.Errorf("%s does not end it", by)
			}
			stop()
			cancel()
		})
	}
}

// Those who wait for a count return when it is 0, whatever it was before, or when their context ends.
func TestCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Count
		if err := c.Wait(t.Context()); err != nil {
			t.Errorf("of nothing: %v", err)
		}
		c.Add(2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("of two that go on: %v", err)
		}
		returned := make(chan error, 2)
		for range cap(returned) {
			go func() { returned <- c.Wait(t.Context()) }()
		}
		synctest.Wait()
		c.Add(1)
		c.Add(-2)
		synctest.Wait()
		if len(returned) > 0 {
			t.Error("Wait has returned, and one goes on")
		}
		c.Add(-1)
		synctest.Wait()
		if len(returned) != cap(returned) {
			t.Fatalf("%d return", len(returned))
		}
		for range cap(returned) {
			if err := <-returned; err != nil {
				t.Error(err)
			}
		}
		c.Add(1)
		go c.Add(-1)
		if err := c.Wait(t.Context()); err != nil {
			t.Errorf("again: %v", err)
		}
	})
}
