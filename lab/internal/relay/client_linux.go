package relay

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/lab/internal/rawio"
	"github.com/sluice-go/sluice/rtmp"
)

// A client is a connection to the server, whose bytes an event loop feeds to a parser.
type client struct {
	fd    int
	in    *sluice.BufReader
	rtmp  *rtmp.Conn     // by RTMP
	flv   *flv.Decoder   // by HTTP
	steps []func() error // what comes before media; one that lacks bytes is called again
	bytes int64          // received
}

// errDismissed is the error of a client to which the server has announced the end of
// the stream.
var errDismissed = errors.New("relay: the server ends the stream")

// ErrStream is the error of bytes that are no stream of the protocol.
var ErrStream = errors.New("relay: not the protocol")

func dial(ep, tag int, to unix.Sockaddr, w *Work, stream string, publish bool) (*client, error) {
	fd, err := rawio.Connect(to, longestWait, func(int) error { return nil })
	if err != nil {
		return nil, err
	}
	if w.TLS && !publish {
		if fd, err = rawio.OverTLS(fd); err != nil {
			return nil, err
		}
	}
	c := &client{fd: fd, in: sluice.NewBufReaderFed()}
	if err := unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(tag)}); err != nil {
		c.close()
		return nil, os.NewSyscallError("epoll_ctl", err)
	}
	if !publish && w.Form == FLV {
		c.flv = flv.NewDecoder(c.in)
		c.steps = []func() error{c.status, c.header, func() error { _, err := c.flv.ReadHeader(); return err }}
		query := ""
		if w.Waits {
			query = "?wait=20"
		}
		_, err = io.WriteString(c, "GET /"+w.App+"/"+stream+".flv"+query+" HTTP/1.0\r\nHost: "+w.View+"\r\n\r\n")
	} else {
		c.rtmp = rtmp.NewConn(c.in, sluice.NewBufWriter(c), rtmp.Options{})
		begin := c.rtmp.Play
		if publish {
			begin = c.rtmp.Publish
		}
		c.steps = []func() error{
			c.rtmp.ClientHandshake,
			func() error {
				return c.rtmp.Connect(rtmp.ConnectOptions{App: w.App, TCURL: "rtmp://" + w.Publish + "/" + w.App})
			},
			func() error { return begin(stream) },
		}
		err = c.advance(nil)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *client) close() {
	unix.Close(c.fd) // and out of the epoll with it
	c.in.Recycle()
	if c.rtmp != nil {
		c.rtmp.Recycle()
	}
}

// Write sends all of p, and waits while the socket is full.
func (c *client) Write(p []byte) (int, error) {
	sent := 0
	for sent < len(p) {
		n, errno := rawio.Send(c.fd, p[sent:])
		if errno == unix.EAGAIN {
			ready, err := unix.Poll([]unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLOUT}}, int(longestWait.Milliseconds()))
			if err == nil && ready == 0 {
				return sent, fmt.Errorf("relay: the server takes nothing for %v", longestWait)
			}
			continue
		}
		if errno != 0 {
			return sent, fmt.Errorf("relay: sending: %w", errno)
		}
		sent += n
	}
	return sent, nil
}

// receive feeds what one read gives; if there is more there is another event. media is
// called with what that completes, borrowed. A connection that is at its end is io.EOF.
func (c *client) receive(buf []byte, media func(kind flv.TagType, time uint32, payload []byte) error) error {
	n, errno := rawio.Recv(c.fd, buf)
	switch {
	case errno == unix.EAGAIN:
		return nil
	case errno != 0:
		return fmt.Errorf("%w: %w", io.EOF, errno)
	case n == 0:
		return io.EOF
	}
	c.bytes += int64(n)
	if err := c.in.FeedCopy(buf[:n]); err != nil {
		return err
	}
	return c.advance(media)
}

func (c *client) advance(media func(flv.TagType, uint32, []byte) error) error {
	for {
		var err error
		if len(c.steps) > 0 {
			if err = c.steps[0](); err == nil {
				c.steps = c.steps[1:]
			}
		} else {
			err = c.message(media)
		}
		var refused *rtmp.StatusError
		switch {
		case errors.Is(err, sluice.ErrShort):
			return nil
		case errors.As(err, &refused):
			return fmt.Errorf("%w: %w", errDismissed, err)
		case err != nil:
			return err
		}
	}
}

var ends = []string{"NetStream.Play.StreamNotFound", "NetStream.Play.Failed", "NetStream.Failed", "NetStream.Play.UnpublishNotify", "NetStream.Play.Stop"}

func (c *client) message(media func(flv.TagType, uint32, []byte) error) error {
	if c.flv != nil {
		t, err := c.flv.Next()
		if err != nil {
			return err
		}
		err = media(t.Type, t.Time, t.Payload.Bytes())
		t.Release()
		return err
	}
	m, err := c.rtmp.ReadMessage()
	if err != nil {
		return err
	}
	defer m.Release()
	if m.Type != rtmp.TypeCommandAMF0 {
		var p []byte
		if m.Payload.Valid() {
			p = m.Payload.Bytes()
		}
		return media(flv.TagType(m.Type), m.Time, p)
	}
	if cmd, err := rtmp.ParseCommand(m); err == nil {
		if _, code, _, ok := cmd.Status(); ok && slices.Contains(ends, code) {
			return fmt.Errorf("%w: %s", errDismissed, code)
		}
	}
	return nil
}

func (c *client) status() error {
	line, err := c.in.ReadSlice('\n')
	if err == nil && !strings.HasPrefix(string(line), "HTTP/1.1 200") && !strings.HasPrefix(string(line), "HTTP/1.0 200") {
		err = fmt.Errorf("%w: the server answers %.80q", ErrStream, line)
	}
	return err
}

func (c *client) header() error {
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		switch text := strings.ToLower(strings.TrimSpace(string(line))); {
		case text == "":
			return nil
		case strings.Contains(text, "chunked"):
			return fmt.Errorf("%w: the body is chunked", ErrStream)
		}
	}
}
