package scenarios

import (
	"bufio"
	"io"
	"net"

	"github.com/cloudwego/gopkg/bufiox"

	"github.com/sluice-go/sluice"
)

// An idleWay is a way to wait on a connection.
type idleWay struct {
	name, about string
	// serve takes the first message, calls got and waits for more until the
	// connection ends, whose error it returns.
	serve func(conn *net.TCPConn, got func()) error
}

// idleWays are the ways to wait, the bare one first.
var idleWays = []idleWay{
	{"rawconn", "a goroutine in a bare RawConn.Read, which has a buffer only while bytes are there", serveRaw},
	{"bufio-4K", "bufio.Reader of 4 KiB, its default", func(conn *net.TCPConn, got func()) error {
		return serveBufio(conn, 4<<10, got)
	}},
	{"bufio-32K", "bufio.Reader of 32 KiB", func(conn *net.TCPConn, got func()) error {
		return serveBufio(conn, 32<<10, got)
	}},
	{"bufiox", "cloudwego bufiox, the message released", serveBufiox},
	{"next", "our BufReader", serveOurs},
}

func serveBufio(conn *net.TCPConn, size int, got func()) error {
	r := bufio.NewReaderSize(conn, size)
	if _, err := r.Discard(idleMessage); err != nil {
		return err
	}
	got()
	_, err := r.Peek(1)
	return err
}

func serveBufiox(conn *net.TCPConn, got func()) error {
	r := bufiox.NewDefaultReader(conn)
	defer r.Release(io.EOF)
	if _, err := r.Next(idleMessage); err != nil {
		return err
	}
	if err := r.Release(nil); err != nil {
		return err
	}
	got()
	_, err := r.Next(frameHead)
	return err
}

func serveOurs(conn *net.TCPConn, got func()) error {
	r := sluice.NewBufReader(conn)
	defer r.Recycle()
	if _, err := r.Next(idleMessage); err != nil {
		return err
	}
	got()
	_, err := r.Next(frameHead)
	return err
}
