package std

import (
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
)

func TestDeadlineOfALaterReadFiresOutOfTurn(t *testing.T) {
	x := newFixture(t, op.Settings{})
	near, far := x.tcp()
	first, second := make([]byte, 10), make([]byte, 10)
	x.must(x.w.ReadTimeout("first", near, first, time.Now().Add(time.Hour)))
	x.must(x.w.ReadTimeout("second", near, second, time.Now().Add(20*time.Millisecond)))
	x.must(x.w.ReadTimeout("third", near, nil, time.Now().Add(time.Hour)))
	r := x.wantOne("second", op.ErrDeadline, 0)
	if &r.Buffer[0] != &second[0] {
		t.Error("another buffer came back")
	}
	_, err := far.Write([]byte("abc"))
	x.must(err)
	if r := x.wantOne("first", nil, 3); &r.Buffer[0] != &first[0] || string(first[:3]) != "abc" {
		t.Errorf("the first read has %q", r.Buffer)
	}
	_, err = far.Write([]byte("de"))
	x.must(err)
	if r := x.wantOne("third", nil, 2); string(r.Buffer) != "de" || !r.IsSwapBuffer {
		t.Errorf("the third read has %q", r.Buffer)
	}
}

func TestDeadlineIsNotMetByTheNextOperation(t *testing.T) {
	for _, network := range []string{"tcp", "tls"} {
		t.Run(network, func(t *testing.T) {
			x := newFixture(t, op.Settings{})
			a, b := x.tcp()
			var server, client net.Conn = a, b
			if network == "tls" {
				s, c := x.tlsOver(a, b)
				shaken := make(chan error, 1)
				go func() { shaken <- c.Handshake() }()
				x.must(errors.Join(s.Handshake(), <-shaken))
				server, client = s, c
			}
			x.must(x.w.ReadTimeout("first", server, make([]byte, 10), time.Now().Add(5*time.Millisecond)))
			x.must(x.w.Read("second", server, make([]byte, 10)))
			x.wantOne("first", op.ErrDeadline, 0)
			x.fence()
			_, err := client.Write([]byte("abc"))
			x.must(err)
			x.wantOne("second", nil, 3)
		})
	}
}

func TestReadFullKeepsWhatCameBeforeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newFixture(t, op.Settings{})
		near, far := x.pipe()
		buf := make([]byte, 10)
		x.must(x.w.ReadFull("full", near, buf, time.Now().Add(100*time.Millisecond)))
		for _, b := range []byte("abc") {
			_, err := far.Write([]byte{b})
			x.must(err)
		}
		x.wantOne("full", op.ErrDeadline, 3)
		if string(buf[:3]) != "abc" {
			t.Errorf("it read %q", buf[:3])
		}
	})
}

func TestTakesItsDeadlineAwayAfterwards(t *testing.T) {
	x := newFixture(t, op.Settings{})
	var mu sync.Mutex
	var last time.Time
	c := newScripted()
	fired := make(chan struct{}, 1)
	c.set = func(t time.Time) error {
		mu.Lock()
		defer mu.Unlock()
		if last = t; !t.IsZero() {
			fired <- struct{}{}
		}
		return nil
	}
	c.read = func(p []byte) (int, error) {
		<-fired
		return 0, os.ErrDeadlineExceeded
	}
	x.must(x.w.ReadTimeout("read", c, make([]byte, 1), time.Now().Add(time.Hour)))
	x.wantOne("read", op.ErrDeadline, 0)
	x.wantGoroutines(0)
	mu.Lock()
	defer mu.Unlock()
	if !last.IsZero() {
		t.Errorf("the deadline %v is still set", last)
	}
}

// A timeout that the driver did not set is the connection's own: it is neither
// op.ErrDeadline nor a reason to try again.
func TestPassesOnTimeoutsThatAreNotItsOwn(t *testing.T) {
	x := newFixture(t, op.Settings{})
	c := newScripted()
	c.read = func(p []byte) (int, error) { return 0, os.ErrDeadlineExceeded }
	c.write = func(p []byte) (int, error) { return 1, os.ErrDeadlineExceeded }
	x.must(x.w.Read("read", c, nil))
	x.wantOne("read", os.ErrDeadlineExceeded, 0)
	x.must(x.w.Write("write", c, make([]byte, 3)))
	if r := x.wantOne("write", os.ErrDeadlineExceeded, 1); errors.Is(r.Error, op.ErrDeadline) {
		t.Error("it says op.ErrDeadline")
	}
}

func TestOnAConnectionWithoutDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newFixture(t, op.Settings{})
		c := newScripted()
		reading, gate := make(chan struct{}, 2), make(chan int)
		c.read = func(p []byte) (int, error) {
			reading <- struct{}{}
			return <-gate, nil
		}
		x.must(x.w.ReadTimeout("stuck", c, make([]byte, 10), time.Now().Add(10*time.Millisecond)))
		<-reading
		x.must(x.w.ReadTimeout("queued", c, make([]byte, 10), time.Now().Add(20*time.Millisecond)))
		x.wantOne("queued", op.ErrDeadline, 0)
		x.fence()
		gate <- 4
		x.wantOne("stuck", nil, 4)

		x.must(x.w.ReadFull("in parts", c, make([]byte, 10), time.Now().Add(10*time.Millisecond)))
		<-reading
		x.fence()
		gate <- 4
		x.wantOne("in parts", op.ErrDeadline, 4)
	})
}

func TestDeadlinesOfOneQueueComeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newFixture(t, op.Settings{})
		near, far := x.pipe()
		const n = 200
		x.must(x.w.Read("first", near, make([]byte, 1)))
		deadline := time.Now().Add(30 * time.Millisecond)
		for i := range n {
			x.must(x.w.ReadTimeout(i, near, make([]byte, 1), deadline))
		}
		rounds := 0
		for got := 0; got < n; rounds++ {
			results, err := x.next()
			x.must(err)
			for _, r := range results {
				if r.Context != got || r.Error != op.ErrDeadline {
					t.Fatalf("%v completed with %v, want %d", r.Context, r.Error, got)
				}
				got++
			}
		}
		if rounds > 10 {
			t.Errorf("%d deadlines took %d rounds", n, rounds)
		}
		go far.Write([]byte("x"))
		x.wantOne("first", nil, 1)
	})
}

func TestWriteDeadlineCountsWhatIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newFixture(t, op.Settings{})
		near, far := x.pipe()
		x.must(x.w.WriteTimeout("write", near, patterned(10), time.Now().Add(50*time.Millisecond)))
		x.must(x.w.Write("behind", near, []byte("tail")))
		got := make([]byte, 3)
		_, err := far.Read(got)
		x.must(err)
		x.wantOne("write", op.ErrDeadline, 3)
		rest := make(chan string, 1)
		go func() {
			b := make([]byte, 10)
			n, _ := far.Read(b)
			rest <- string(b[:n])
		}()
		x.wantOne("behind", nil, 4)
		if s := <-rest; s != "tail" {
			t.Errorf("the write behind sent %q", s)
		}
	})
}
