package sluice_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// TestTakingOverFromAnHTTPServer hijacks a connection on which bytes of the
// next protocol came right behind the request.
func TestTakingOverFromAnHTTPServer(t *testing.T) {
	const frames = 200
	for _, secure := range []bool{false, true} {
		for _, pipelined := range []int{0, 1, 100, 3000, 10_000} {
			t.Run(fmt.Sprintf("TLS %v, %d bytes behind the request", secure, pipelined), func(t *testing.T) {
				body := testData(frames * 100)
				result := make(chan error, 1)
				server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					conn, rw, err := w.(http.Hijacker).Hijack()
					if err != nil {
						result <- err
						return
					}
					defer func() { _ = conn.Close() }()
					r := sluice.NewBufReaderFrom(rw, conn)
					defer r.Recycle()
					for at := 0; at < len(body); at += 100 {
						b, err := r.ReadBuf(100)
						if err != nil {
							result <- fmt.Errorf("at %d: %w", at, err)
							return
						}
						if !bytes.Equal(b.Bytes(), body[at:at+100]) {
							result <- fmt.Errorf("other bytes at %d", at)
							return
						}
						b.Release()
					}
					if n := r.TotalRead(); n != int64(len(body)) {
						result <- fmt.Errorf("TotalRead is %d", n)
						return
					}
					_, err = io.WriteString(conn, "well")
					result <- err
				}))
				if secure {
					server.StartTLS()
				} else {
					server.Start()
				}
				defer server.Close()
				conn, err := net.Dial("tcp", server.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				if secure {
					config := server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
					config.ServerName = "example.com"
					conn = tls.Client(conn, config)
				}
				request := "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: frames\r\n\r\n"
				if _, err := conn.Write(append([]byte(request), body[:pipelined]...)); err != nil {
					t.Fatal(err)
				}
				if _, err := conn.Write(body[pipelined:]); err != nil {
					t.Fatal(err)
				}
				within(t, "the handler", func() { err = <-result })
				if err != nil {
					t.Fatal(err)
				}
				answer := make([]byte, 4)
				if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "well" {
					t.Errorf("%q, %v", answer, err)
				}
			})
		}
	}
}

func TestTakingOverLeavesNothingInTheOldReader(t *testing.T) {
	near, far := tcpPair(t)
	write(t, far, "early bytes")
	rw := bufio.NewReadWriter(bufio.NewReader(near), nil)
	if _, err := rw.Peek(11); err != nil {
		t.Fatal(err)
	}
	r := sluice.NewBufReaderFrom(rw, near)
	defer r.Recycle()
	if rw.Reader.Buffered() != 0 || r.Buffered() != 11 || r.TotalRead() != 11 {
		t.Errorf("%d bytes in the old reader, %d in the new, %d in all", rw.Reader.Buffered(), r.Buffered(), r.TotalRead())
	}
	write(t, far, " late bytes")
	if p, err := r.Next(22); string(p) != "early bytes late bytes" || err != nil {
		t.Errorf("%q, %v", p, err)
	}
}

func TestDetachHandsOnEverything(t *testing.T) {
	data := testData(500_000)
	for _, c := range []struct {
		name string
		use  func(t *testing.T, r *sluice.BufReader) (consumed int)
	}{
		{"at the start", func(*testing.T, *sluice.BufReader) int { return 0 }},
		{"in a window", func(t *testing.T, r *sluice.BufReader) int {
			if _, err := r.Next(100); err != nil {
				t.Fatal(err)
			}
			return 100
		}},
		{"with a window of blocks", func(t *testing.T, r *sluice.BufReader) int {
			if _, err := r.Peek(200_000); err != nil {
				t.Fatal(err)
			}
			return 0
		}},
		{"after a gathering", func(t *testing.T, r *sluice.BufReader) int {
			if err := discardBytes(r, 150_000); err != nil {
				t.Fatal(err)
			}
			return 150_000
		}},
		{"inside a mark", func(t *testing.T, r *sluice.BufReader) int {
			r.Mark()
			if err := r.Skip(70_000); err != nil {
				t.Fatal(err)
			}
			return 70_000
		}},
		{"after UnreadByte", func(t *testing.T, r *sluice.BufReader) int {
			if err := r.Skip(5000); err != nil {
				t.Fatal(err)
			}
			if err := r.UnreadByte(); err != nil {
				t.Fatal(err)
			}
			return 4999
		}},
	} {
		for _, s := range streams() {
			t.Run(s.name+"/"+c.name, func(t *testing.T) {
				a := paranoid(t)
				r := s.open(t, a, data, every(7000))
				at := c.use(t, r)
				buffered := r.Buffered()
				rest, src := r.Detach()
				if rest.Size != buffered {
					t.Errorf("%d bytes are handed on, %d were buffered", rest.Size, buffered)
				}
				all := bytes.Clone(rest.Bytes())
				rest.Release()
				switch s.name {
				case "chan", "fed", "bytes":
					if src != nil {
						t.Errorf("there is no reader to hand on, and %T is", src)
					}
					if !bytes.Equal(all, data[at:at+len(all)]) {
						t.Error("other bytes")
					}
				default:
					tail, err := io.ReadAll(src)
					if all = append(all, tail...); err != nil || !bytes.Equal(all, data[at:]) {
						t.Errorf("%d bytes, %v; want %d", len(all), err, len(data)-at)
					}
				}
				if _, err := r.ReadByte(); err != sluice.ErrClosed {
					t.Errorf("the reader is not recycled: %v", err)
				}
				if out := a.Stats().OutBytes; out != 0 {
					t.Errorf("%d bytes are checked out", out)
				}
			})
		}
	}
}

func TestDetachedBytesOutliveTheReader(t *testing.T) {
	a := paranoid(t)
	r := readerOf(t, a, 0, strings.NewReader("abcdefgh"))
	mustReadByte(t, r, 'a')
	rest, _ := r.Detach()
	r.Reset(strings.NewReader(strings.Repeat("x", 10_000)))
	if err := r.Skip(5000); err != nil {
		t.Fatal(err)
	}
	if string(rest.Bytes()) != "bcdefgh" {
		t.Errorf("%q", rest.Bytes())
	}
	rest.Release()
}

func TestDetachedConnectionGoesOnElsewhere(t *testing.T) {
	near, far := tcpPair(t)
	r := readerOf(t, mem.Default(), 0, near)
	write(t, far, "header|body")
	if p, err := r.ReadSlice('|'); string(p) != "header|" || err != nil {
		t.Fatalf("%q, %v", p, err)
	}
	rest, src := r.Detach()
	if src != io.Reader(near) {
		t.Fatalf("%T was handed on", src)
	}
	send(t, far, []byte(" and more"), every(100))
	m := rest.NewReader()
	all, err := io.ReadAll(io.MultiReader(&m, src))
	if string(all) != "body and more" || err != nil {
		t.Errorf("%q, %v", all, err)
	}
	rest.Release()
}
