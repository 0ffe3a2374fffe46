package srtconn

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	srt "github.com/datarhei/gosrt"
)

// listen answers calls: with no where the stream id is "no".
func listen(t *testing.T) string {
	l, err := srt.Listen("srt", "127.0.0.1:0", srt.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	go func() {
		for {
			req, err := l.Accept2()
			if err != nil {
				return
			}
			if req.StreamId() == "no" {
				req.Reject(srt.REJX_FORBIDDEN)
			} else if conn, err := req.Accept(); err == nil {
				go func() {
					io.Copy(io.Discard, conn)
					conn.Close()
				}()
			}
		}
	}()
	return l.Addr().String()
}

const (
	soon         = 100 * time.Millisecond
	eventTimeout = 2 * time.Minute
)

// Calls that are rejected are errors at once, and those that nothing answers in time. No
// goroutine is left of them in the end, nor of one that was answered.
func TestDialLeavesNothing(t *testing.T) {
	silent, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	address := listen(t)
	before := runtime.NumGoroutine()
	// dial gives the call more time while nothing answers, as on a busy machine.
	dial := func(c srt.Config) (srt.Conn, error) {
		for c.ConnectionTimeout = soon; ; c.ConnectionTimeout *= 2 {
			conn, err := Dial(context.Background(), address, c)
			if !errors.Is(err, errUnanswered) || c.ConnectionTimeout > eventTimeout {
				return conn, err
			}
		}
	}
	c := (&Address{StreamID: "no"}).Config()
	for range 3 {
		conn, err := dial(c)
		if conn != nil || !errors.Is(err, ErrRejected) || !strings.Contains(err.Error(), "code 1403") {
			t.Fatalf("%v, %v", conn, err)
		}
		c.ConnectionTimeout = soon
		if conn, err := Dial(context.Background(), silent.LocalAddr().String(), c); conn != nil || !errors.Is(err, errUnanswered) {
			t.Fatalf("%v, %v", conn, err)
		}
	}
	c = (&Address{StreamID: "yes", Latency: 200 * time.Millisecond}).Config()
	conn, err := dial(c)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	c.ConnectionTimeout = soon
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if conn, err := Dial(over, silent.LocalAddr().String(), c); conn != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", conn, err)
	}
	for end := time.Now().Add(eventTimeout); runtime.NumGoroutine() > before; {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, there were %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
		<-time.After(10 * time.Millisecond)
	}
}
