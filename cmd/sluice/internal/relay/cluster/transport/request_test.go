package transport

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// asking repeats a request until there is an answer: routes between nodes need a moment.
func asking(t *testing.T, from *Transport, to string, body []byte) []byte {
	t.Helper()
	answer, _ := askingOften(t, from, to, body)
	return answer
}

// askingOften returns how often it has asked, too.
func askingOften(t *testing.T, from *Transport, to string, body []byte) (answer []byte, requests int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for requests = 1; ; requests++ {
		one, cancel := context.WithTimeout(ctx, limit/60)
		answer, err := from.Request(one, to, body)
		cancel()
		if err == nil {
			return answer, requests
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

func TestRequests(t *testing.T) {
	a, _ := open(t, Options{Node: "a"})
	b, _ := open(t, Options{Node: "b", Join: []string{a.Address()}, Answer: func(from string, body []byte) []byte {
		switch string(body) {
		case "long":
			return bytes.Repeat([]byte("0123456789"), 150_000)
		case "too long":
			return make([]byte, maxAnswer+1)
		case "nothing":
			return nil
		}
		return []byte(from + " " + string(body))
	}})
	if got := asking(t, a, "b", []byte("hello")); string(got) != "a hello" {
		t.Errorf("%q", got)
	}
	if got := asking(t, a, "b", []byte("long")); !bytes.Equal(got, bytes.Repeat([]byte("0123456789"), 150_000)) {
		t.Errorf("an answer of three parts has %d bytes", len(got))
	}
	if got := asking(t, a, "b", []byte("nothing")); len(got) != 0 {
		t.Errorf("%q", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if _, err := a.Request(ctx, "b", []byte("too long")); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	gone, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := a.Request(gone, "none", nil); !errors.Is(err, ErrNoAnswer) {
		t.Error(err)
	}
	if n := len(a.requests.waiting); n > 0 {
		t.Errorf("%d requests wait", n)
	}
	_ = b
}

// A node that is asked too much says so at once.
func TestTooManyRequests(t *testing.T) {
	s := outside(t, server.RANDOM_PORT)
	var most, now atomic.Int64
	hold := make(chan struct{})
	a, _ := open(t, Options{Node: "a", URL: s.ClientURL()})
	open(t, Options{Node: "b", URL: s.ClientURL(), Answer: func(_ string, body []byte) []byte {
		if len(body) > 0 {
			return nil
		}
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		<-hold
		return nil
	}})
	asking(t, a, "b", []byte("is it there"))
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var all sync.WaitGroup
	var busy atomic.Int64
	first := make(chan struct{}, 2*answering)
	for range 2 * answering {
		all.Go(func() {
			if _, err := a.Request(ctx, "b", nil); errors.Is(err, ErrTooBusy) {
				busy.Add(1)
				first <- struct{}{}
			}
		})
	}
	select {
	case <-first:
	case <-ctx.Done():
		t.Error("none was refused")
	}
	close(hold)
	all.Wait()
	if busy.Load() == 0 || most.Load() > answering {
		t.Errorf("%d were refused, %d answered at once", busy.Load(), most.Load())
	}
}

// On a NATS that everybody may use, a request or an answer that comes again, is altered,
// or comes as the other one does nothing.
func TestRequestsOfStrangers(t *testing.T) {
	s := outside(t, server.RANDOM_PORT)
	var asked atomic.Int64
	a, _ := open(t, Options{Node: "a", URL: s.ClientURL()})
	b, _ := open(t, Options{Node: "b", URL: s.ClientURL(), Answer: func(from string, body []byte) []byte {
		asked.Add(1)
		return append([]byte("yes "), body...)
	}})
	x, _ := open(t, Options{Node: "x", URL: s.ClientURL(), Secret: []byte("some other secret")})
	spy, err := nats.Connect(s.ClientURL(), nats.Timeout(limit))
	if err != nil {
		t.Fatal(err)
	}
	defer spy.Close()
	var mu sync.Mutex
	var heard []*nats.Msg
	for _, subject := range []string{"sluice.ask.*", "sluice.answer.*"} {
		if _, err := spy.Subscribe(subject, func(m *nats.Msg) {
			mu.Lock()
			heard = append(heard, m)
			mu.Unlock()
		}); err != nil {
			t.Fatal(err)
		}
	}
	spy.Flush()
	first, requests := askingOften(t, a, "b", []byte("first"))
	if string(first) != "yes first" {
		t.Fatalf("%s", first)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := x.Request(short, "b", []byte("forged")); !errors.Is(err, ErrNoAnswer) {
		t.Error(err)
	}
	mu.Lock()
	for _, m := range heard {
		altered := append([]byte(nil), m.Data...)
		altered[len(altered)-1] ^= 1
		for _, subject := range []string{"sluice.ask.b", "sluice.answer.a", "sluice.ask.a", "sluice.answer.b", "sluice.ctl.b", "sluice.node.b"} {
			spy.Publish(subject, m.Data)
			spy.Publish(subject, altered)
		}
	}
	mu.Unlock()
	spy.Flush()
	second, more := askingOften(t, a, "b", []byte("second"))
	if string(second) != "yes second" {
		t.Errorf("%s", second)
	}
	if n := asked.Load(); n > requests+more {
		t.Errorf("%d requests were answered, %d were made", n, requests+more)
	}
	until(t, "three are refused", func() bool { return b.Stats().Refused >= 3 })
}
