//go:build !386 && !s390x

package intake_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/intake"
)

// longest is how long these tests wait for what has to come.
const longest = time.Minute

// script is a handler made of functions; without late it ends at a deadline.
type script struct{ ready, late func() intake.Verdict }

func (s script) Ready() intake.Verdict { return s.ready() }

func (s script) Late() intake.Verdict {
	if s.late == nil {
		return intake.Over
	}
	return s.late()
}

// pair returns a connection of l and its peer.
func pair(t *testing.T, l *intake.Loops) (*intake.Conn, *net.TCPConn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	peer, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { peer.Close() })
	if err := peer.SetDeadline(time.Now().Add(longest)); err != nil {
		t.Fatal(err)
	}
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c := l.Take(conn.(*net.TCPConn))
	t.Cleanup(func() { c.Close() })
	return c, peer.(*net.TCPConn)
}

func loops(t *testing.T) *intake.Loops {
	t.Helper()
	l := new(intake.Loops)
	t.Cleanup(l.Close)
	l.Start()
	return l
}

// collect is a handler that reads from r until it has want bytes or an error.
func collect(r io.Reader, want int, got *bytes.Buffer, ended *error) script {
	p := make([]byte, 100)
	return script{ready: func() intake.Verdict {
		for got.Len() < want {
			n, err := r.Read(p)
			got.Write(p[:n])
			if err == intake.ErrDry {
				return intake.Wait
			}
			if *ended = err; err != nil {
				return intake.Over
			}
		}
		return intake.Over
	}}
}

// What many peers send in pieces comes in order, through the reader that a goroutine has
// begun to read with and goes on with.
func TestEveryByteComesInOrder(t *testing.T) {
	const conns, pieces = 60, 200
	l := loops(t)
	var all sync.WaitGroup
	for k := range conns {
		c, peer := pair(t, l)
		var sent []byte
		for i := range pieces {
			sent = fmt.Appendf(sent, "%d/%d,", k, i)
		}
		sent = append(sent, bytes.Repeat([]byte("x"), 200<<10)...)
		all.Go(func() {
			for i := 0; i < len(sent); {
				n := min(1+i%(7+i/4), len(sent)-i)
				if _, err := peer.Write(sent[i : i+n]); err != nil {
					t.Error(err)
					return
				}
				i += n
			}
		})
		all.Go(func() {
			r := sluice.NewBufReader(c)
			defer r.Recycle()
			head := make([]byte, 10)
			if _, err := io.ReadFull(r, head); err != nil {
				t.Error(err)
				return
			}
			got := bytes.NewBuffer(head)
			for _, want := range []int{len(sent) / 3, len(sent) / 2} {
				var ended error
				if err := c.Serve(collect(r, want, got, &ended)); err != nil || ended != nil {
					t.Error(err, ended)
					return
				}
			}
			rest := make([]byte, len(sent)-got.Len())
			if _, err := io.ReadFull(r, rest); err != nil {
				t.Error(err)
			}
			if got.Write(rest); !bytes.Equal(got.Bytes(), sent) {
				t.Errorf("connection %d: other bytes than were sent", k)
			}
		})
	}
	all.Wait()
}

// A peer that sends all the time does not keep the loop from the others.
func TestOneThatFloodsDoesNotStarveTheOthers(t *testing.T) {
	l := loops(t)
	var stop atomic.Bool
	var all sync.WaitGroup
	defer all.Wait()
	defer stop.Store(true)
	for range runtime.GOMAXPROCS(0) { // on each loop
		c, peer := pair(t, l)
		p := make([]byte, 64<<10)
		all.Go(func() {
			for !stop.Load() {
				if _, err := peer.Write(p); err != nil {
					return
				}
			}
			peer.Close()
		})
		room := make([]byte, 4<<10)
		all.Go(func() {
			_ = c.Serve(script{ready: func() intake.Verdict {
				if _, err := c.Read(room); err != nil && err != intake.ErrDry {
					return intake.Over
				}
				return intake.Again // as one does that has more than it looks at
			}})
		})
	}
	for range 2 * runtime.GOMAXPROCS(0) {
		c, peer := pair(t, l)
		for range 5 {
			if _, err := peer.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			var ended error
			if err := c.Serve(collect(c, 1, &got, &ended)); err != nil || ended != nil {
				t.Fatal(err, ended)
			}
		}
	}
}

// A loop that has paused since much came, or has come to wait for what is rare, answers all
// the same.
func TestOftenAndRarelyInTurn(t *testing.T) {
	const conns, rounds, often, rarely = 16, 8, 200, 5
	l := loops(t)
	var peers []*net.TCPConn
	var served sync.WaitGroup
	for range conns {
		c, peer := pair(t, l)
		peers = append(peers, peer)
		p := make([]byte, 16)
		served.Go(func() {
			_ = c.Serve(script{ready: func() intake.Verdict {
				n, err := c.Read(p)
				if err == nil {
					_, err = c.Write(p[:n])
				}
				if err != nil && err != intake.ErrDry {
					return intake.Over
				}
				return intake.Wait
			}})
		})
	}
	ask := func(peer *net.TCPConn, times int) error {
		var p [1]byte
		for range times {
			if _, err := peer.Write(p[:]); err != nil {
				return err
			}
			if _, err := io.ReadFull(peer, p[:]); err != nil {
				return err
			}
		}
		return nil
	}
	for round := range rounds {
		var asking sync.WaitGroup
		for _, peer := range peers {
			asking.Go(func() {
				if err := ask(peer, often); err != nil {
					t.Error("often:", err)
				}
			})
		}
		asking.Wait()
		for _, peer := range peers {
			time.Sleep(time.Duration(round) * time.Millisecond) // what is rare
			if err := ask(peer, rarely); err != nil {
				t.Fatal("rarely:", err)
			}
		}
	}
	for _, peer := range peers {
		peer.Close()
	}
	served.Wait()
}

func TestTheEndOfAPeerIsRead(t *testing.T) {
	l := loops(t)
	for name, end := range map[string]func(*net.TCPConn) error{
		"closed": (*net.TCPConn).Close,
		"reset": func(c *net.TCPConn) error {
			return errors.Join(c.SetLinger(0), c.Close())
		},
	} {
		c, peer := pair(t, l)
		if _, err := peer.Write([]byte("abc")); err != nil {
			t.Fatal(err)
		}
		var once sync.Once
		var got bytes.Buffer
		var ended error
		h := collect(c, 100, &got, &ended)
		read := h.ready
		h.ready = func() intake.Verdict {
			v := read()
			if got.Len() == 3 {
				once.Do(func() {
					if err := end(peer); err != nil {
						t.Error(err)
					}
				})
			}
			return v
		}
		if err := c.Serve(h); err != nil {
			t.Fatal(err)
		}
		if ended == nil || got.String() != "abc" {
			t.Errorf("%s: %q and %v", name, got.String(), ended)
		}
		if name == "closed" && ended != io.EOF {
			t.Errorf("%s: %v", name, ended)
		}
	}
}

// Bytes behind an urgent one are not left where they are.
func TestUrgentDataStopsNothing(t *testing.T) {
	l := loops(t)
	c, peer := pair(t, l)
	raw, err := peer.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		_ = unix.Send(int(fd), []byte("ab"), 0)
		_ = unix.Send(int(fd), []byte("!"), unix.MSG_OOB)
		_ = unix.Send(int(fd), []byte("cd"), 0)
	})
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	var ended error
	if err := c.Serve(collect(c, 4, &got, &ended)); err != nil || ended != nil || got.String() != "abcd" {
		t.Fatalf("%q, %v, %v", got.String(), ended, err)
	}
}

// Deadlines are met, those that were set before as well, and hold for the goroutine too.
func TestDeadlines(t *testing.T) {
	l := loops(t)
	for _, before := range []bool{true, false} {
		c, _ := pair(t, l)
		began := make(chan struct{})
		var once sync.Once
		h := script{ready: func() intake.Verdict {
			once.Do(func() { close(began) })
			return intake.Wait
		}}
		long := 20 * time.Millisecond
		if before {
			if err := c.SetReadDeadline(time.Now().Add(long)); err != nil {
				t.Fatal(err)
			}
		} else {
			go func() {
				<-began
				c.SetReadDeadline(time.Now().Add(time.Hour))
				c.SetReadDeadline(time.Unix(1, 0))
			}()
		}
		late := false
		h.late = func() intake.Verdict {
			late = true
			return intake.Over
		}
		if err := c.Serve(h); err != nil || !late {
			t.Fatal(err, late)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after a deadline that has passed: %v", err)
		}
	}
}

// Late may go on, with another deadline.
func TestLateGoesOn(t *testing.T) {
	l := loops(t)
	c, _ := pair(t, l)
	if err := c.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	times := 0
	h := script{
		ready: func() intake.Verdict { return intake.Wait },
		late: func() intake.Verdict {
			if times++; times == 3 {
				return intake.Over
			}
			c.SetReadDeadline(time.Now().Add(time.Millisecond))
			return intake.Wait
		},
	}
	if err := c.Serve(h); err != nil || times != 3 {
		t.Error(err, times)
	}
}

func TestCloseInALoop(t *testing.T) {
	l := loops(t)
	c, peer := pair(t, l)
	var once sync.Once
	var got bytes.Buffer
	var ended error
	h := collect(c, 1, &got, &ended)
	read := h.ready
	h.ready = func() intake.Verdict {
		once.Do(func() { go c.Close() })
		return read()
	}
	if err := c.Serve(h); err != nil || !errors.Is(ended, net.ErrClosed) {
		t.Errorf("%v, %v", err, ended)
	}
	if _, err := c.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a write: %v", err)
	}
	if _, err := peer.Read(make([]byte, 1)); err == nil {
		t.Error("the peer can read")
	}
	if err := c.Serve(h); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("another Serve: %v", err)
	}
}

// A peer that takes nothing does not make the loop wait.
func TestAWriteInALoopDoesNotWait(t *testing.T) {
	l := loops(t)
	c, peer := pair(t, l)
	var failed error
	err := c.Serve(script{ready: func() intake.Verdict {
		if _, err := c.Write([]byte("hello")); err != nil {
			failed = err
			return intake.Over
		}
		p := make([]byte, 1<<20)
		for failed == nil {
			_, failed = c.Write(p)
		}
		return intake.Over
	}})
	if err != nil || !errors.Is(failed, intake.ErrFull) {
		t.Errorf("%v, %v", err, failed)
	}
	hello := make([]byte, 5)
	if _, err := io.ReadFull(peer, hello); err != nil || string(hello) != "hello" {
		t.Errorf("%q, %v", hello, err)
	}
}

// Loops that end give connections back.
func TestLoopsEnd(t *testing.T) {
	l := loops(t)
	c, peer := pair(t, l)
	began := make(chan struct{})
	var once sync.Once
	served := make(chan error)
	go func() {
		served <- c.Serve(script{ready: func() intake.Verdict {
			once.Do(func() { close(began) })
			return intake.Wait
		}})
	}()
	<-began
	l.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := c.Serve(script{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := peer.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Error(n, err)
	}
	if n, err := c.TCP().Write([]byte("y")); n != 1 || err != nil {
		t.Error(n, err)
	}
}

// Other goroutines may use a connection while it goes into a loop and out of it.
func TestOthersMayInterfere(t *testing.T) {
	l := loops(t)
	c, peer := pair(t, l)
	done := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { _, _ = io.Copy(io.Discard, peer) })
	for _, f := range []func(){
		func() { c.SetReadDeadline(time.Now().Add(time.Hour)) },
		func() { c.SetReadDeadline(time.Unix(1, 0)) },
		func() { _, _ = c.Write([]byte("x")) },
		func() {
			if raw, err := c.SyscallConn(); err == nil {
				_ = raw.Control(func(fd uintptr) { _, _ = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TYPE) })
			}
		},
	} {
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					f()
					runtime.Gosched()
				}
			}
		})
	}
	for range 100 {
		if err := c.Serve(script{ready: func() intake.Verdict { return intake.Wait }}); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Fatal(err)
		}
	}
	close(done)
	c.Close()
	all.Wait()
}
