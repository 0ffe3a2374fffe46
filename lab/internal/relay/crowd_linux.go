package relay

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/lab/internal/rawio"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
)

// Crowd is the work of a load of many streams, each of a publisher of small frames and
// at most one viewer. All go by RTMP.
type Crowd struct {
	Publish, View string // HOST:PORT
	App           string
	Streams       int
	Viewed        bool          // each stream has a viewer
	Frame         int           // bytes of one
	Every         time.Duration // from one to the next of a stream
	Warm, Window  time.Duration
	Server        int // the number of the server's process
}

// A CrowdResult is what a window came to.
type CrowdResult struct {
	Published int           // frames in the window
	Delivered int           // frames that viewers got in the window
	Lost      int           // frames that a viewer did not get, although it got one before it
	CPU       time.Duration // of the server's process
	Grown     int64         // resident bytes of the server at the end, less those before the first stream
	Busy      float64       // the part of the window for which the load's processor worked
}

// crowdKey is after how many frames there is a key frame: two seconds at 30 a second.
const crowdKey = 60

// crowdAtOnce is how many frames are sent before what has come is received.
const crowdAtOnce = 200

// A crowd has its clients, publishers first, in one epoll.
type crowd struct {
	Crowd
	began   time.Time
	ep      int
	clients []*crowdClient
	buf     []byte
	events  []unix.EpollEvent
	next    int // of the publishers: the one whose frame is due next
	round   int // of frames, all publishers have sent so many
	start   time.Duration
	before  int64 // resident bytes of the server
	result  CrowdResult
}

// A crowdClient is a publisher, or the viewer of a stream.
type crowdClient struct {
	*client
	publish bool
	seen    bool   // a frame has come
	last    uint32 // the time of the latest
	crowd   *crowd
}

// RunCrowd is a load's process. It reads a Crowd as a line of JSON from in, publishes and
// watches, writes "ready" to out when the server has answered all, and then a
// CrowdResult as a line of JSON. It goes on until in ends.
func RunCrowd(in io.Reader, out io.Writer) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	asked := bufio.NewReader(in)
	line, err := asked.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("relay: the load has no work: %w", err)
	}
	c := &crowd{began: time.Now(), ep: -1, buf: make([]byte, longRead), events: make([]unix.EpollEvent, 512)}
	if err := json.Unmarshal(line, &c.Crowd); err != nil {
		return fmt.Errorf("relay: the load's work: %w", err)
	}
	if c.Streams < 1 || c.Frame < 10 || c.Every <= 0 || c.Window <= 0 {
		return fmt.Errorf("relay: %d streams of %d bytes every %v for %v", c.Streams, c.Frame, c.Every, c.Window)
	}
	defer c.close()
	if err := c.connect(); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return err
	}
	if err := c.measure(); err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(c.result); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, asked)
	return err
}

func (c *crowd) close() {
	for _, x := range c.clients {
		x.close()
	}
	if c.ep >= 0 {
		unix.Close(c.ep)
	}
}

func (c *crowd) now() time.Duration { return time.Since(c.began) }

// connect connects all clients.
func (c *crowd) connect() (err error) {
	if c.before, err = rawio.Resident(c.Server); err != nil {
		return err
	}
	if c.ep, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if err := c.join(c.Publish, true); err != nil {
		return err
	}
	c.start = c.now()
	if c.Viewed {
		return c.join(c.View, false)
	}
	return nil
}

func (c *crowd) measure() error {
	if err := c.pass(c.now() + c.Warm); err != nil {
		return err
	}
	c.result = CrowdResult{}
	cpu, err := rawio.CPUTime(c.Server)
	if err != nil {
		return err
	}
	own, _ := rawio.CPUTime(0)
	from := c.now()
	if err := c.pass(from + c.Window); err != nil {
		return err
	}
	took := c.now() - from
	ownAfter, _ := rawio.CPUTime(0)
	after, err := rawio.CPUTime(c.Server)
	if err != nil {
		return err
	}
	c.result.CPU, c.result.Busy = after-cpu, float64(ownAfter-own)/float64(took)
	resident, err := rawio.Resident(c.Server)
	c.result.Grown = resident - c.before
	return err
}

// join connects a client for each stream, and waits until the server has answered all.
func (c *crowd) join(to string, publish bool) error {
	at, err := address(to)
	if err != nil {
		return err
	}
	for n := range c.Streams {
		work := &Work{Publish: c.Publish, Form: RTMP, App: c.App, Stream: "s" + strconv.Itoa(n)}
		conn, err := dial(c.ep, len(c.clients), at, work, publish)
		if err != nil {
			return err
		}
		x := &crowdClient{client: conn, publish: publish, crowd: c}
		c.clients = append(c.clients, x)
		// A few at once: a listener's queue is not what is measured.
		if err := c.until(func() bool { return c.waiting(joining) < joining }, to); err != nil {
			return err
		}
	}
	return c.until(func() bool { return c.waiting(1) == 0 }, to)
}

// waiting counts the clients that the server has not answered, up to most.
func (c *crowd) waiting(most int) (n int) {
	for i := len(c.clients) - 1; i >= 0 && n < most; i-- {
		if x := c.clients[i]; len(x.steps) > 0 || !x.publish && !x.seen {
			n++
		}
	}
	return n
}

func (c *crowd) until(done func() bool, what string) error {
	for end := c.now() + longestWait; !done(); {
		if c.now() > end {
			return fmt.Errorf("relay: %s does not serve all %d clients in %v", what, c.Streams, longestWait)
		}
		if err := c.turn(); err != nil {
			return err
		}
	}
	return nil
}

func (c *crowd) pass(end time.Duration) error {
	for c.now() < end {
		if err := c.turn(); err != nil {
			return err
		}
	}
	return nil
}

// turn sends what is due and receives what has come, or sleeps a little.
func (c *crowd) turn() error {
	if c.start > 0 {
		if err := c.publish(); err != nil {
			return err
		}
	}
	n, err := unix.EpollWait(c.ep, c.events, 0)
	if err != nil && err != unix.EINTR {
		return os.NewSyscallError("epoll_wait", err)
	}
	if n <= 0 {
		pause := unix.NsecToTimespec(moderation.Nanoseconds() / 4)
		unix.Nanosleep(&pause, nil)
		return nil
	}
	for _, e := range c.events[:n] {
		x := c.clients[e.Fd]
		if err := x.receive(c.buf, x.take); err != nil {
			return fmt.Errorf("client %d of a crowd: %w", e.Fd, err)
		}
	}
	return nil
}

// publish sends the frames that are due: those of the streams are spread over the time
// from one to the next.
func (c *crowd) publish() error {
	for range crowdAtOnce { // one that cannot keep up ends in time all the same
		due := c.start + time.Duration(c.round)*c.Every + time.Duration(c.next)*c.Every/time.Duration(c.Streams)
		if c.now() < due {
			return nil
		}
		if err := c.send(c.clients[c.next], c.next, c.round); err != nil {
			return err
		}
		c.result.Published++
		if c.next++; c.next == c.Streams {
			c.next, c.round = 0, c.round+1
		}
	}
	return nil
}

// send sends the nth frame of a stream. The first one sets up the decoder. Key frames of the
// streams do not come together.
func (c *crowd) send(x *crowdClient, stream, n int) error {
	payload := make([]byte, c.Frame)
	payload[0], payload[1] = 0x27, 1
	if n == 0 || (n+stream)%crowdKey == 0 {
		payload[0] = 0x17
	}
	m := rtmp.Message{Type: rtmp.TypeVideo, StreamID: x.rtmp.StreamID()}
	if n == 0 {
		m.Payload = mem.Wrap([]byte{0x17, 0, 0, 0, 0, 1, 0x64, 0, 0x1f, 0xff, 0xe0, 0}, nil)
		if err := x.rtmp.WriteMessage(m); err != nil {
			return err
		}
	}
	m.Time, m.Payload = uint32(time.Duration(n)*c.Every/time.Millisecond), mem.Wrap(payload, nil)
	if err := x.rtmp.WriteMessage(m); err != nil {
		return err
	}
	return x.rtmp.Flush()
}

// take takes a message, borrowed.
func (x *crowdClient) take(kind flv.TagType, at uint32, payload []byte) error {
	if x.publish {
		return fmt.Errorf("%w: media to a publisher", ErrStream)
	}
	if packet, _ := kindOf(kind, payload); packet != media {
		return nil
	}
	if len(payload) != x.crowd.Frame {
		return fmt.Errorf("%w: a frame of %d bytes, %d were published", ErrStream, len(payload), x.crowd.Frame)
	}
	r := &x.crowd.result
	r.Delivered++
	if every := uint32(x.crowd.Every / time.Millisecond); x.seen {
		r.Lost += int((at-x.last+every/2)/every) - 1 // times are whole milliseconds
	}
	x.seen, x.last = true, at
	return nil
}
