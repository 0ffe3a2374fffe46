package echobench

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/loopback"
)

// serveWith has each connection of a listener served by a function, and returns
// a client of it. Everything ends with the test.
func serveWith(t *testing.T, size int, serve func(*net.TCPConn)) *Client {
	t.Helper()
	l, err := Listen(size)
	if err != nil {
		t.Fatal(err)
	}
	counter := new(ConnCounter)
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		acceptAll(l, counter, func(conn *net.TCPConn) error {
			serve(conn)
			return nil
		})
	}()
	c, err := NewClient(l.Addr().String(), size, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	c.timeout = 3 * time.Minute // other tests have the processors too
	t.Cleanup(func() {
		c.Close()
		l.Close()
		<-accepting
		if err := counter.Drained(time.Minute); err != nil {
			t.Error(err)
		}
	})
	return c
}

// echoed serves with changes to each piece that comes.
func echoed(change func(p []byte) []byte) func(*net.TCPConn) {
	return func(conn *net.TCPConn) {
		buf := make([]byte, 256<<10)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			if _, err := conn.Write(change(buf[:n])); err != nil {
				return
			}
		}
	}
}

func honest(p []byte) []byte { return p }

func TestTheClientCountsWhatCameBack(t *testing.T) {
	for _, size := range []int{minSize, 128, 5000, 64 << 10, maxSize} {
		c := serveWith(t, size, echoed(honest))
		for _, conns := range []int{1, 3, 10} {
			before := len(c.peers)
			r, err := c.Connect(conns)
			if err != nil {
				t.Fatalf("%d B: connecting: %v", size, err)
			}
			if r.Messages != conns-before || r.Check != Sum(conns-before) {
				t.Errorf("%d B: connecting %d to %d came to %+v", size, before, conns, r)
			}
			for _, ops := range []int{0, 1, conns - 1, conns, conns + 1, 5*conns + 2} {
				r, err := c.Closed(ops)
				if err != nil {
					t.Fatalf("%d B, %d messages on %d connections: %v", size, ops, conns, err)
				}
				if r.Messages != ops || r.Bytes != int64(ops*size) || r.Check != Sum(ops) {
					t.Errorf("%d B, %d messages on %d connections came to %+v", size, ops, conns, r)
				}
				if ops > 0 && (r.Wall <= 0 || r.Waited > r.Wall) {
					t.Errorf("%d B: it waited %v of %v", size, r.Waited, r.Wall)
				}
			}
		}
	}
}

func TestTheClientConnectsAgainAfterItHungUp(t *testing.T) {
	c := serveWith(t, 128, echoed(honest))
	for range 3 {
		if r, err := c.Connect(600); err != nil || r.Messages != 600 {
			t.Fatalf("%+v, %v", r, err)
		}
		if _, err := c.Closed(1000); err != nil {
			t.Fatal(err)
		}
		c.HangUp()
	}
	if _, err := c.Closed(1); err == nil {
		t.Error("a message without a connection")
	}
	if _, err := c.Paced(1, time.Millisecond); err == nil {
		t.Error("a paced message without a connection")
	}
}

// silence is what the client says after it waited for nothing.
const silence = "no answer for"

func TestTheClientFindsWhatAServerDoesWrong(t *testing.T) {
	for name, c := range map[string]struct {
		change func() func([]byte) []byte
		says   string
	}{
		"a changed byte": {func() func([]byte) []byte {
			return func(p []byte) []byte { p[len(p)/2] ^= 1; return p }
		}, "is not what was sent"},
		"a piece twice": {func() func([]byte) []byte {
			return func(p []byte) []byte { return append(p, p...) }
		}, "came back"},
		"a byte more": {func() func([]byte) []byte {
			return func(p []byte) []byte { return append(p, 0) }
		}, "came back"},
		"the message before": {func() func([]byte) []byte {
			last := make([]byte, 128)
			return func(p []byte) []byte {
				now := append([]byte(nil), p...)
				copy(p, last)
				copy(last, now)
				return p
			}
		}, "is not what was sent"},
		"a byte less": {func() func([]byte) []byte {
			return func(p []byte) []byte { return p[:len(p)-1] }
		}, silence},
		"nothing": {func() func([]byte) []byte {
			return func(p []byte) []byte { return nil }
		}, silence},
	} {
		t.Run(name, func(t *testing.T) {
			try := func(timeout time.Duration) error {
				client := serveWith(t, 128, func(conn *net.TCPConn) { echoed(c.change())(conn) })
				client.timeout = timeout
				if _, err := client.Connect(3); err != nil {
					return err
				}
				_, err := client.Closed(3000)
				return err
			}
			err := error(nil)
			if c.says == silence {
				// A busy machine may not connect in so short a time.
				for timeout := 100 * time.Millisecond; timeout < time.Minute; timeout *= 4 {
					if err = try(timeout); err != nil && strings.Contains(err.Error(), silence) {
						break
					}
				}
			} else {
				err = try(time.Minute)
			}
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

func TestTheClientSaysThatTheServerHungUp(t *testing.T) {
	client := serveWith(t, 128, func(conn *net.TCPConn) {
		buf := make([]byte, 128)
		for range 5 {
			if n, err := conn.Read(buf); err == nil {
				conn.Write(buf[:n])
			}
		}
	})
	if _, err := client.Connect(2); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Closed(100); err == nil {
		t.Error("100 messages of 8")
	}
}

func TestNobodyListens(t *testing.T) {
	addr := loopback.Free(t)
	c, err := NewClient(addr, 128, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Connect(1); err == nil || !strings.Contains(err.Error(), "connect") {
		t.Error(err)
	}
	if _, err := NewClient("[::1]:80", 128, 1, false); err == nil {
		t.Error("a client of an address that is not IPv4")
	}
	if _, err := NewClient(addr, 1, 1, false); err == nil {
		t.Error("a client of messages of one byte")
	}
}

// A server that stands still for a while delays every message that is due
// meanwhile, also those that a client which waits for answers would not have
// sent.
func TestPacedLatencyCountsFromWhenAMessageWasDue(t *testing.T) {
	const (
		stall    = 200 * time.Millisecond
		interval = time.Millisecond
		ops      = 200
	)
	c := serveWith(t, 128, func(conn *net.TCPConn) {
		first := make([]byte, 128)
		if _, err := conn.Read(first); err != nil {
			return
		}
		if _, err := conn.Write(first); err != nil {
			return
		}
		if _, err := conn.Read(first[:1]); err != nil {
			return
		}
		<-time.After(stall)
		if _, err := conn.Write(first[:1]); err != nil {
			return
		}
		echoed(honest)(conn)
	})
	if _, err := c.Connect(1); err != nil {
		t.Fatal(err)
	}
	r, err := c.Paced(ops, interval)
	if err != nil {
		t.Fatal(err)
	}
	if r.Messages != ops || r.Check != Sum(ops) {
		t.Errorf("%+v", r)
	}
	// Message n is due at n ms and answered at 200 ms or later, so that half of
	// them wait for 100 ms or more.
	if r.P50 < stall/2-10*interval || r.P99 < stall-10*interval {
		t.Errorf("p50 %v, p99 %v, although nothing was answered for %v", r.P50, r.P99, stall)
	}
	if r.Wall < (ops-1)*interval {
		t.Errorf("%d messages, one every %v, took %v", ops, interval, r.Wall)
	}
}

func TestPacedMessagesGoOutAtTheirTime(t *testing.T) {
	c := serveWith(t, 128, echoed(honest))
	if _, err := c.Connect(7); err != nil {
		t.Fatal(err)
	}
	for _, ops := range []int{0, 1, 6, 7, 100} {
		r, err := c.Paced(ops, 500*time.Microsecond)
		if err != nil {
			t.Fatal(err)
		}
		if r.Messages != ops || r.Check != Sum(ops) || r.P50 > r.P99 || r.Late < 0 {
			t.Errorf("%d messages: %+v", ops, r)
		}
		if least := time.Duration(ops-1) * 500 * time.Microsecond; r.Wall < least {
			t.Errorf("%d messages went out in %v, the last one is due after %v", ops, r.Wall, least)
		}
	}
	if _, err := c.Paced(5, 0); err == nil {
		t.Error("messages at no interval")
	}
}
