package hooks

import (
	"crypto/hmac"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/loopback"
)

// eventually waits until what holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
		<-time.After(2 * time.Millisecond)
	}
}

// A receiver is a server that gets events.
type receiver struct {
	t       *testing.T
	secret  []byte
	address string
	server  *http.Server
	on      net.Listener

	mu    sync.Mutex
	fault func(http.ResponseWriter) bool // answers in place of the receiver, if it returns true
	late  func(http.ResponseWriter) bool // the same, after the events were taken
	got   []Event                        // each once, as it first came
	seen  map[string]bool
	again int // events that came again
}

// newReceiver has an address at which it does not listen yet.
func newReceiver(t *testing.T) *receiver {
	t.Helper()
	return &receiver{t: t, address: loopback.Free(t), seen: map[string]bool{}}
}

func (r *receiver) listen() {
	r.t.Helper()
	var l net.Listener
	eventually(r.t, "the port is free", func() (ok bool) {
		var err error
		l, err = net.Listen("tcp", r.address)
		return err == nil
	})
	r.server, r.on = &http.Server{Handler: r}, l
	go r.server.Serve(l)
	r.t.Cleanup(r.die)
}

func (r *receiver) die() {
	r.on.Close()
	r.server.Close()
}

func (r *receiver) url() string { return "http://" + r.address + "/events" }

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return // cut off
	}
	r.mu.Lock()
	fault, late := r.fault, r.late
	r.mu.Unlock()
	if fault != nil && fault(w) {
		return
	}
	var delivery struct{ Events []Event }
	if err := json.Unmarshal(body, &delivery); err != nil || len(delivery.Events) == 0 || len(delivery.Events) > mostEvents {
		r.t.Errorf("%d events, %v in %.200s", len(delivery.Events), err, body)
	}
	r.verify(q.Header.Get(SignatureHeader), body)
	r.mu.Lock()
	for _, v := range delivery.Events {
		if r.seen[v.ID] {
			r.again++
			continue
		}
		r.seen[v.ID] = true
		r.got = append(r.got, v)
	}
	r.mu.Unlock()
	if late != nil && late(w) {
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// verify checks a signature as a receiver should.
func (r *receiver) verify(header string, body []byte) {
	if r.secret == nil {
		if header != "" {
			r.t.Errorf("signed without a secret: %s", header)
		}
		return
	}
	seconds, _, _ := strings.Cut(strings.TrimPrefix(header, "t="), ",")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if at := time.Unix(n, 0); err != nil || time.Since(at).Abs() > time.Minute || !hmac.Equal([]byte(Signature(r.secret, at, body)), []byte(header)) {
		r.t.Errorf("signature %q of %d bytes", header, len(body))
	}
}

func (r *receiver) faults(fault, late func(http.ResponseWriter) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault, r.late = fault, late
}

func (r *receiver) events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Event(nil), r.got...)
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got)
}

// cut closes the connection without an answer.
func cut(w http.ResponseWriter) bool {
	if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
		conn.Close()
	}
	return true
}

// reporting delivers to r with short pauses.
func reporting(t *testing.T, r *receiver, dir string) *Events {
	t.Helper()
	return reportingWithin(t, r, dir, time.Minute)
}

// reportingWithin gives a delivery so much time.
func reportingWithin(t *testing.T, r *receiver, dir string, timeout time.Duration) *Events {
	t.Helper()
	e, err := NewEvents(EventOptions{
		URL: r.url(), Secret: r.secret, Dir: dir, Timeout: timeout, Retry: time.Millisecond, RetryMost: 20 * time.Millisecond,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// numbered adds events with these numbers in their stream's name.
func numbered(e *Events, from, to int) {
	for n := from; n < to; n++ {
		e.Add(Event{Event: PlayBegin, Stream: fmt.Sprint("live/", n)})
	}
}

// inOrder checks that each of so many numbered events has come, in order.
func (r *receiver) inOrder(t *testing.T, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d events", n), func() bool { return r.count() >= n })
	for i, v := range r.events() {
		if want := fmt.Sprint("live/", i); v.Stream != want || v.Event != PlayBegin || v.ID == "" || time.Since(v.Time).Abs() > time.Minute {
			t.Fatalf("event %d of %d is %+v", i, len(r.events()), v)
		}
	}
	if len(r.events()) != n {
		t.Errorf("%d events, want %d", len(r.events()), n)
	}
}
