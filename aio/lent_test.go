package aio_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// A program that echoes what a read without a buffer returned writes from memory
// of the watcher. When the peer is slow the write outlasts the lease, and must
// not send bytes that other connections have received meanwhile.
func TestEchoOfLentMemoryToSlowPeers(t *testing.T) {
	for _, driver := range []aio.Driver{aio.Auto, aio.Std} {
		t.Run(driver.String(), func(t *testing.T) {
			a := mem.New(mem.Options{Name: "lent", Leak: mem.LeakParanoid})
			sluicetest.NoLeaks(t, a)
			w, err := aio.NewWatcherOptions(aio.Options{Driver: driver, Allocator: a})
			if err != nil {
				t.Fatal(err)
			}
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				echoLent(w)
			}()
			go func() {
				for {
					conn, err := ln.Accept()
					if err != nil {
						return
					}
					_ = conn.(*net.TCPConn).SetWriteBuffer(4 << 10)
					_ = w.Read(nil, conn, nil)
				}
			}()
			const peers = 8
			said := make(chan error, peers)
			for i := range peers {
				go func() { said <- hearEcho(ln.Addr().String(), byte(i+1)) }()
			}
			for range peers {
				if err := <-said; err != nil {
					t.Error(err)
				}
			}
			ln.Close()
			w.Close()
			<-ended
			_, _ = w.WaitIO() // ends the last leases
			_, _ = w.WaitIO()
		})
	}
}

// echoLent serves until w is closed.
func echoLent(w *aio.Watcher) {
	for {
		results, err := w.WaitIO()
		if err != nil {
			return
		}
		for i := range results {
			r := &results[i]
			if r.Error != nil {
				_ = w.Free(r.Conn)
				continue
			}
			if r.Operation == aio.OpRead {
				// In two parts, cut as Frames cuts them.
				if half := r.Size / 2; half > 0 {
					_ = w.Write(nil, r.Conn, r.Buffer[:half:half])
				}
				_ = w.Write(nil, r.Conn, r.Buffer[r.Size/2:r.Size])
				_ = w.Read(nil, r.Conn, nil)
			}
		}
	}
}

// hearEcho sends a megabyte of b and wants it back.
func hearEcho(addr string, b byte) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	want := bytes.Repeat([]byte{b}, 1<<20)
	go func() { _, _ = conn.Write(want) }()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		at := 0
		for got[at] == want[at] {
			at++
		}
		return fmt.Errorf("what peer %d said came back as %d from byte %d on", b, got[at], at)
	}
	return nil
}

// What Conn.Write was given is the program's again when it returns, also where it is memory that a
// read has lent and the peer is slow: the program changes that in place, as for the next peer.
func TestLentMemoryIsTheProgramsAgainAfterAWrite(t *testing.T) {
	const size = 24 << 20 // more than the kernel takes
	for _, driver := range driversHere(t) {
		t.Run(driver.String(), func(t *testing.T) {
			waits := make(chan struct{})
			var once sync.Once
			h := &aio.ConnHandler[int]{Data: func(c *aio.Conn[int], p []byte) error {
				_, err := c.Write(p)
				if c.Queued() > 0 {
					once.Do(func() { close(waits) })
				}
				clear(p)
				return err
			}}
			s := serveConns(t, h, aio.Server{Options: aio.Options{Driver: driver}})
			c := s.dial()
			go c.Write(bytes.Repeat([]byte{'x'}, size)) // so that reads have many KB
			<-waits
			got := make([]byte, size)
			if _, err := io.ReadFull(c, got); err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(got, []byte{'x'}); n != size {
				t.Errorf("of %d bytes %d came back as they were when they were written", size, n)
			}
			s.end()
		})
	}
}
