// Package peers misuses what other libraries' readers lend.
package peers

import (
	"bytes"
	"encoding/binary"

	"github.com/cloudwego/gopkg/bufiox"
	"github.com/cloudwego/netpoll"
	"github.com/panjf2000/gnet/v2"
	"golang.org/x/sync/errgroup"
)

type handler struct {
	jobs  chan []byte
	last  []byte
	group errgroup.Group
}

func (h *handler) OnTraffic(c gnet.Conn) gnet.Action {
	buf, _ := c.Next(-1)
	go h.process(c, buf) // want `stored in a goroutine`
	return gnet.None
}

func (h *handler) process(c gnet.Conn, p []byte) { c.AsyncWrite(p, nil) }

func (h *handler) queue(c gnet.Conn) gnet.Action {
	buf, err := c.Peek(-1)
	if err != nil {
		return gnet.None
	}
	h.jobs <- buf // want `stored in a channel`
	c.Discard(len(buf))
	return gnet.None
}

func (h *handler) field(c gnet.Conn) gnet.Action {
	h.last, _ = c.Next(16) // want `stored in the field last`
	return gnet.None
}

func (h *handler) codec(c gnet.Conn) (bool, error) {
	head, err := c.Peek(4)
	if err != nil {
		return false, err
	}
	body, err := c.Next(4 + int(binary.BigEndian.Uint32(head)))
	if err != nil {
		return false, err
	}
	return head[3] == body[3], nil // want `used after (Conn|Reader).Next`
}

func (h *handler) context(c gnet.Conn) gnet.Action {
	buf, _ := c.Next(-1)
	h.group.Go(func() error { // want `runs later`
		_, err := c.Write(buf)
		return err
	})
	return gnet.None
}

func netpollNext(r netpoll.Reader) (bool, error) {
	p, err := r.Next(4)
	if err != nil {
		return false, err
	}
	if err := r.Release(); err != nil {
		return false, err
	}
	return p[0] == 1, nil // want `used after Reader.Release`
}

func netpollReturned(conn netpoll.Connection) ([]byte, error) {
	r := conn.Reader()
	defer r.Release()
	return r.Until('\n') // want `returned after Reader.Release`
}

func netpollConnection(conn netpoll.Connection) (bool, error) {
	line, err := conn.Reader().Until('\n')
	if err != nil {
		return false, err
	}
	conn.Reader().Release()
	return bytes.Equal(line, []byte("PING\n")), nil // want `used after Reader.Release`
}

func netpollSlice(r netpoll.Reader, handle func(netpoll.Reader)) (byte, error) {
	head, err := r.Peek(4)
	if err != nil {
		return 0, err
	}
	body, err := r.Slice(int(head[3]))
	if err != nil {
		return 0, err
	}
	handle(body)
	return head[0], nil // want `used after Reader.Slice`
}

func netpollLoop(r netpoll.Reader, seen map[string][]byte) error {
	for r.Len() > 0 {
		p, err := r.Next(8)
		if err != nil {
			return err
		}
		seen[string(p[:4])] = p[4:] // want `stored in a map`
		r.Release()
	}
	return nil
}

func netpollWriter(w netpoll.Writer) error {
	p, err := w.Malloc(4)
	if err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	p[0] = 1 // want `used after Writer.Flush`
	return nil
}

func bufioxNext(r bufiox.Reader) (byte, error) {
	p, err := r.Next(8)
	r.Release(err)
	if err != nil {
		return 0, err
	}
	return p[7], nil // want `used after Reader.Release`
}

type decoder struct {
	r   bufiox.Reader
	buf []byte
}

func (d *decoder) field() error {
	p, err := d.r.Next(2)
	if err != nil {
		return err
	}
	d.buf = p // want `stored in the field buf`
	return d.r.Release(nil)
}

func (d *decoder) name() (name []byte, err error) {
	defer func() { d.r.Release(err) }()
	head, err := d.r.Next(2)
	if err != nil {
		return nil, err
	}
	return d.r.Next(int(head[1])) // want `returned after`
}
