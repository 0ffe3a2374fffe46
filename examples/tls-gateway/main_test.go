package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/testcert"
)

// atMost bounds every wait for something that has to happen.
const atMost = 30 * time.Second

// backend is a server that sends back what it gets.
func backend(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l
}

// start runs the gateway until the test ends and returns where it listens.
func start(t *testing.T, to, cert, key string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"-addr", "127.0.0.1:0", "-to", to, "-cert", cert, "-key", key, "-watchers", "2"}, w)
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the gateway ends with %v", err)
		}
	})
	line := make([]byte, 100)
	n, err := r.Read(line)
	addr, ok := strings.CutPrefix(strings.TrimSpace(string(line[:n])), "listening on ")
	if err != nil || !ok {
		t.Fatalf("%q, %v", line[:n], err)
	}
	go io.Copy(io.Discard, r)
	return addr
}

func dial(t *testing.T, addr string, config *tls.Config) *tls.Conn {
	t.Helper()
	c, err := tls.DialWithDialer(&net.Dialer{Deadline: time.Now().Add(atMost)}, "tcp", addr, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(atMost)); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheServerHearsWhatClientsSay(t *testing.T) {
	config := testcert.Client(t)
	cert, key := testcert.Files(t)
	addr := start(t, backend(t).Addr().String(), cert, key)
	said := bytes.Repeat([]byte("gateway "), 100_000)
	for range 3 {
		c := dial(t, addr, config)
		wrote := make(chan error, 1)
		go func() {
			_, err := c.Write(said)
			wrote <- err
		}()
		heard := make([]byte, len(said))
		if _, err := io.ReadFull(c, heard); err != nil || !bytes.Equal(said, heard) {
			t.Errorf("other bytes, or %v", err)
		}
		if err := <-wrote; err != nil {
			t.Error(err)
		}
	}
}

func TestTheEndOfTheServerEndsTheClient(t *testing.T) {
	config := testcert.Client(t)
	cert, key := testcert.Files(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	addr := start(t, l.Addr().String(), cert, key)
	c := dial(t, addr, config)
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(server, "goodbye"); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if p, err := io.ReadAll(c); string(p) != "goodbye" || err != nil {
		t.Errorf("the client reads %q, %v", p, err)
	}
}

// What one side still has to say comes after the other has ended its own.
func TestEndsAreHalf(t *testing.T) {
	config := testcert.Client(t)
	cert, key := testcert.Files(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	addr := start(t, l.Addr().String(), cert, key)
	type half interface {
		net.Conn
		CloseWrite() error
	}
	for _, clientFirst := range []bool{true, false} {
		client := dial(t, addr, config)
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		server := conn.(*net.TCPConn)
		defer server.Close()
		if err := server.SetDeadline(time.Now().Add(atMost)); err != nil {
			t.Fatal(err)
		}
		first, second := half(client), half(server)
		if !clientFirst {
			first, second = second, first
		}
		for _, side := range [][2]half{{first, second}, {second, first}} {
			said := bytes.Repeat([]byte("half"), 100_000)
			go func() {
				_, _ = side[0].Write(said)
				_ = side[0].CloseWrite()
			}()
			if heard, err := io.ReadAll(side[1]); !bytes.Equal(heard, said) || err != nil {
				t.Errorf("client first %v: %d bytes of %d, %v", clientFirst, len(heard), len(said), err)
			}
		}
	}
}

func TestNoServer(t *testing.T) {
	config := testcert.Client(t)
	cert, key := testcert.Files(t)
	l := backend(t)
	l.Close()
	c := dial(t, start(t, l.Addr().String(), cert, key), config)
	if p, err := io.ReadAll(c); len(p) > 0 || err != nil {
		t.Errorf("the client reads %q, %v", p, err)
	}
}

func TestWrongFlagsAreRefused(t *testing.T) {
	cert, key := testcert.Files(t)
	for _, args := range [][]string{{"extra"}, {"-watchers", "0"}, {"-cert", "none.pem"}, {"-cert", cert, "-key", key, "-addr", "nowhere"}} {
		if err := run(t.Context(), args, io.Discard); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
