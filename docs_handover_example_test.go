package sluice_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/sluice-go/sluice"
)

// peeked is a connection of whose stream some bytes were received already.
type peeked struct {
	net.Conn
	first io.Reader
}

func (p *peeked) Read(b []byte) (int, error) { return p.first.Read(b) }

// peek returns the first bytes on conn, and a connection for a server of another package,
// which reads them too. That one has no BufReader any more: such a server may call Close
// while it is in Read, which Recycle does not allow.
func peek(conn net.Conn, n int) (string, net.Conn, error) {
	r := sluice.NewBufReader(conn)
	p, err := r.Peek(n)
	first := string(p) // p is borrowed until Detach
	rest, _ := r.Detach()
	defer rest.Release()
	received := bytes.Clone(rest.Bytes())
	return first, &peeked{conn, io.MultiReader(bytes.NewReader(received), conn)}, err
}

// one is a listener of one connection.
type one chan net.Conn

func (o one) Accept() (net.Conn, error) {
	if c, ok := <-o; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (o one) Close() error   { return nil }
func (o one) Addr() net.Addr { return &net.TCPAddr{} }

// One port for two protocols: the first bytes say which.
func ExampleBufReader_Detach() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	web := make(one, 1)
	defer close(web)
	go http.Serve(web, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "the page", r.URL.Path)
	}))
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		switch first, conn, err := peek(conn, 4); {
		case err != nil:
			conn.Close()
		case first == "GET ":
			web <- conn
		default: // frames, say
			conn.Close()
		}
	}()
	answer, err := http.Get("http://" + l.Addr().String() + "/news")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	fmt.Printf("%s%v\n", body, err)
	// Output:
	// the page /news
	// <nil>
}
