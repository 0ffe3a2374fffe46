package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"log"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/internal/testcert"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// atMost bounds every wait for something that has to happen.
const atMost = 30 * time.Second

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	os.Exit(m.Run())
}

// start runs the server until the test ends.
func start(t *testing.T) (addr string) {
	t.Helper()
	cert, key := testcert.Files(t)
	sluicetest.NoLeaks(t, nil)
	ctx, stop := context.WithCancel(context.Background())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, []string{"-addr", "127.0.0.1:0", "-cert", cert, "-key", key}, in)
		in.CloseWithError(io.EOF)
		ended <- err
	}()
	t.Cleanup(func() {
		stop()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the server ends with %v", err)
			}
		case <-time.After(atMost):
			t.Error("the server does not end")
		}
	})
	r := sluice.NewBufReader(out)
	defer r.Recycle()
	line, err := r.ReadLine()
	addr, ok := strings.CutPrefix(line, "listening on ")
	if err != nil || !ok {
		t.Fatalf("the first line is %q, %v", line, err)
	}
	return addr
}

func dial(t *testing.T, addr string) *tls.Conn {
	t.Helper()
	d := tls.Dialer{Config: testcert.Client(t)}
	ctx, cancel := context.WithTimeout(t.Context(), atMost)
	defer cancel()
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(atMost)); err != nil {
		t.Fatal(err)
	}
	return c.(*tls.Conn)
}

func TestFramesComeBack(t *testing.T) {
	addr := start(t)
	conn := dial(t, addr)
	r, w := sluice.NewBufReader(conn), sluice.NewBufWriter(conn)
	defer r.Recycle()
	defer w.Recycle()
	sizes := []int{0, 1, 100, 16 << 10, 100_000, maxFrame}
	for _, together := range []bool{true, false} {
		wrote := make(chan error, 1)
		next := make(chan bool, len(sizes))
		go func() {
			for _, n := range sizes {
				err := w.WriteFrame(4, binary.BigEndian, mem.Wrap(bytes.Repeat([]byte{byte(n)}, n), nil))
				if err == nil && !together {
					err = w.Flush()
				}
				if err != nil {
					wrote <- err
					return
				}
				if !together && !<-next {
					break
				}
			}
			wrote <- w.Flush()
		}()
		for _, n := range sizes {
			b, err := r.ReadFrame(4, binary.BigEndian, 0)
			if err != nil || !bytes.Equal(b.Bytes(), bytes.Repeat([]byte{byte(n)}, n)) {
				t.Fatalf("together %v, %d bytes: %v", together, n, err)
			}
			b.Release()
			next <- true
		}
		if err := <-wrote; err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadByte(); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
}

func TestAFrameThatIsTooLongEndsTheConnection(t *testing.T) {
	addr := start(t)
	conn := dial(t, addr)
	if _, err := conn.Write(binary.BigEndian.AppendUint32(nil, maxFrame+1)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
}

func TestTheServerEndsUnderItsClients(t *testing.T) {
	addr := start(t)
	dial(t, addr) // idle when the cleanup of start stops the server
	plain, err := net.DialTimeout("tcp", addr, atMost)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plain.Close() }) // never says anything
}

func TestWrongFlagsAreRefused(t *testing.T) {
	for _, args := range [][]string{{}, {"-cert", "nowhere", "-key", "nowhere"}} {
		if err := run(t.Context(), args, io.Discard); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

func TestItAcceptsAgainWhenThereAreDescriptors(t *testing.T) {
	config := testcert.Client(t)
	pair, err := tls.LoadX509KeyPair(testcert.Files(t))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- serve(ctx, tls.NewListener(loopback.Refusing(l, 2), &tls.Config{Certificates: []tls.Certificate{pair}}))
	}()
	c, err := tls.DialWithDialer(&net.Dialer{Deadline: time.Now().Add(atMost)}, "tcp", l.Addr().String(), config)
	if err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the server ends with %v", err)
	}
}
