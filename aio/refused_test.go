package aio

import (
	"crypto/tls"
	"errors"
	"net"
	"testing"

	"github.com/sluice-go/sluice/internal/testcert"
)

// A handshake that had failed when the server ended is refused for its own reason, and nothing of it
// is left.
func TestAHandshakeThatFailsAtTheEndSaysWhy(t *testing.T) {
	reason := errors.New("the program's reason")
	config := testcert.Server(t)
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, reason }
	var refused []error
	h := &ConnHandler[int]{
		TLS:     config,
		Data:    func(*Conn[int], []byte) error { return nil },
		Refused: func(_ net.Addr, err error) { refused = append(refused, err) },
	}
	options := Options{Driver: Std}
	if err := h.prepare(&options); err != nil {
		t.Fatal(err)
	}
	w, err := NewWatcherOptions(options)
	if err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	go tls.Client(far, testcert.Client(t)).Handshake()
	hello := make([]byte, 16<<10)
	n, err := near.Read(hello)
	if err != nil {
		t.Fatal(err)
	}
	h.Accepted(w, near)
	l := h.loopOf(w)
	c := l.first
	if _, err := c.secure.received(hello[:n]); err != nil {
		t.Fatal(err)
	}
	c.limitHandshake()
	l.handshakes.Wait() // and what says that it has failed is not looked at
	_ = w.Close()
	results, err := w.WaitIO()
	if err != ErrWatcherClosed {
		t.Fatal(err)
	}
	for i := range results {
		if _, wakes := results[i].Context.(*woken[int]); !wakes {
			h.Completed(w, &results[i])
		}
	}
	l.end()
	if len(refused) != 1 || !errors.Is(refused[0], reason) {
		t.Errorf("refused because of %v", refused)
	}
	if c.secure.limit.Stop() {
		t.Error("its timer goes on")
	}
	_ = far.Close()
}
