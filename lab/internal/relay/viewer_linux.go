package relay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/lab/internal/rawio"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
)

type sending struct {
	at      time.Duration // when
	time    uint32        // in ms, as it was published
	payload []byte
	came    [2]time.Duration // to the first viewer near, and further away; 0: not yet
}

type show struct {
	clip  *Clip
	pub   *client
	skip  int          // the frame of the clip that it begins with
	sent  [2][]sending // by track
	count int
}

func (s *show) head() error {
	for _, t := range s.clip.Head {
		payload := t.Payload
		if t.Kind == flv.TagScript {
			name, err := flv.AppendScript(nil, "@setDataFrame")
			if err != nil {
				return err
			}
			payload = append(name, payload...)
		}
		if err := s.send(t.Kind, 0, payload); err != nil {
			return err
		}
	}
	return nil
}

func (s *show) send(kind flv.TagType, at uint32, payload []byte) error {
	c := s.pub.rtmp
	err := c.WriteMessage(rtmp.Message{Type: rtmp.MessageType(kind), StreamID: c.StreamID(), Time: at, Payload: mem.Wrap(payload, nil)})
	if err == nil {
		err = c.Flush()
	}
	return err
}

func (s *show) due() time.Duration {
	_, next := s.clip.at(s.skip + s.count)
	return (time.Duration(next) - time.Duration(s.clip.Media[s.skip].Time)) * time.Millisecond
}

func (s *show) publish(now time.Duration) (t Tag, at uint32) {
	t, at = s.clip.at(s.skip + s.count)
	if s.count == 0 {
		t = s.clip.Media[0] // a stream begins with a key frame
	}
	s.count++
	which := trackOf(t.Kind)
	s.sent[which] = append(s.sent[which], sending{at: now, time: at, payload: t.Payload})
	return t, at
}

// find returns which frame of a track has that time, or -1; it looks at the expected
// one first.
func (s *show) find(which int, time uint32, expected int) int {
	sent := s.sent[which]
	if expected < len(sent) && sent[expected].time == time {
		return expected
	}
	n := sort.Search(len(sent), func(i int) bool { return sent[i].time >= time })
	if n < len(sent) && sent[n].time == time {
		return n
	}
	return -1
}

func (s *show) ends() [2]int { return [2]int{len(s.sent[video]), len(s.sent[audio])} }

type tally struct {
	now       time.Duration // when what is fed was read
	from, to  time.Duration // frames sent in between count for the lag
	delivered int
	lags      []time.Duration
	hops      []time.Duration
	oddities  int
	oddity    string // the first
}

// A viewer follows what it gets: which frame comes next, what is missing, how long it
// took.
type viewer struct {
	*client
	show   *show
	tally  *tally
	tracks [2]struct {
		began        bool
		next, missed int
	}
	far   int  // 1: further away by a hop
	look  bool // at every byte
	gone  bool
	mark  int64 // bytes at the beginning of the window
	asked time.Duration
	key   time.Duration // when the first key frame was complete; 0: not yet
}

func (v *viewer) leave() {
	if !v.gone {
		v.close()
		v.gone = true
	}
}

func (v *viewer) odd(format string, args ...any) error {
	if v.tally.oddities++; v.tally.oddities == 1 {
		v.tally.oddity = fmt.Sprintf(format, args...)
	}
	return nil
}

func (v *viewer) take(kind flv.TagType, at uint32, payload []byte) error {
	packet, key := kindOf(kind, payload)
	if packet != media {
		return nil
	}
	which := trackOf(kind)
	tr := &v.tracks[which]
	n := v.show.find(which, at, tr.next)
	switch {
	case n < 0 || len(v.show.sent[which][n].payload) != len(payload):
		return v.odd("no frame of kind %d with %d bytes was published for %d ms", kind, len(payload), at)
	case tr.began && n < tr.next:
		return v.odd("frame %d of kind %d comes after frame %d", n, kind, tr.next-1)
	case tr.began:
		tr.missed += n - tr.next
	}
	tr.began, tr.next = true, n+1
	sent := &v.show.sent[which][n]
	if v.look && !bytes.Equal(payload, sent.payload) {
		return fmt.Errorf("%w: frame %d of kind %d has other bytes than were published", ErrStream, n, kind)
	}
	t := v.tally
	t.delivered++
	if key && v.key == 0 {
		v.key = t.now
	}
	if sent.at >= t.from && sent.at < t.to {
		t.lags = append(t.lags, t.now-sent.at)
		if sent.came[v.far] == 0 {
			sent.came[v.far] = t.now
			if sent.came[1-v.far] > 0 {
				t.hops = append(t.hops, sent.came[1]-sent.came[0])
			}
		}
	}
	return nil
}

// behind reports whether a frame with a number below the ends is still missing.
func (v *viewer) behind(ends [2]int) bool {
	return v.tracks[video].next < ends[video] || v.tracks[audio].next < ends[audio]
}

func (v *viewer) lost(ends [2]int) int {
	n := 0
	for which, tr := range v.tracks {
		n += tr.missed + max(0, ends[which]-tr.next) // all, when it never got any
	}
	return n
}

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
	fields, err := c.in.ReadMIMEHeader()
	if err == nil && strings.EqualFold(fields.Get("Transfer-Encoding"), "chunked") {
		err = fmt.Errorf("%w: the body is chunked", ErrStream)
	}
	return err
}
