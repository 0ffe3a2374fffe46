package abuse

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
)

// frameEvery is the time between two pictures of the healthy stream.
const frameEvery = 20 * time.Millisecond

// healthy is a publisher and a viewer who do nothing wrong, while others do. Every
// frame is compared; a frame that is lost, changed or late ends it.
type healthy struct {
	name string
	sent atomic.Uint64 // frames written by the publisher
	seen atomic.Uint64 // the last frame that the viewer has
	stop context.CancelFunc
	done sync.WaitGroup
	once sync.Once
	fail error
	dead chan struct{} // closed when fail is set
}

// errBroken: the healthy stream did not stay whole.
var errBroken = errors.New("abuse: the healthy stream broke")

// errNotBegun: publishing or playing a healthy stream failed before its first frame.
var errNotBegun = errors.New("abuse: no healthy stream can begin")

// begin publishes and watches the stream name, until end. It returns when the viewer
// has its first frame.
func begin(ctx context.Context, publish, play target, name string) (*healthy, error) {
	ctx, stop := context.WithCancel(ctx)
	h := &healthy{name: name, stop: stop, dead: make(chan struct{})}
	out, err := publish.publisher(ctx, name)
	if err != nil {
		stop()
		return nil, fmt.Errorf("%w: publishing %s: %w", errNotBegun, name, err)
	}
	h.done.Go(func() { h.publish(ctx, out) })
	limit := time.After(10 * time.Second)
	tick := time.NewTicker(frameEvery)
	defer tick.Stop()
	frames, err := play.viewer(ctx, name)
	for err != nil { // a server may take a moment to know the stream
		select {
		case <-limit:
			h.end()
			return nil, fmt.Errorf("%w: playing %s: %w", errNotBegun, name, err)
		case <-tick.C:
		}
		frames, err = play.viewer(ctx, name)
	}
	h.done.Go(func() { h.watch(ctx, frames) })
	for h.seen.Load() == 0 {
		select {
		case <-h.dead:
			if h.seen.Load() > 0 {
				break // it has begun, and broke afterwards
			}
			h.end()
			return nil, h.fail
		case <-limit:
			h.end()
			return nil, fmt.Errorf("%w: no frame came in 10 s", errNotBegun)
		case <-tick.C:
		}
	}
	return h, nil
}

// broken returns why the stream is not whole any more, or nil.
func (h *healthy) broken() error {
	select {
	case <-h.dead:
		return h.fail
	default:
		return nil
	}
}

// caughtUp waits until the viewer has what was published before the call.
func (h *healthy) caughtUp(within time.Duration) error {
	want := h.sent.Load()
	limit := time.After(within)
	tick := time.NewTicker(frameEvery)
	defer tick.Stop()
	for h.seen.Load() < want {
		select {
		case <-h.dead:
			return h.fail
		case <-limit:
			return fmt.Errorf("%w: %v after frame %d was published the viewer had %d", errBroken, within, want, h.seen.Load())
		case <-tick.C:
		}
	}
	return h.broken()
}

func (h *healthy) end() {
	h.stop()
	h.done.Wait()
}

func (h *healthy) breaks(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // it was ended
	}
	h.once.Do(func() {
		h.fail = fmt.Errorf("%w: %w", errBroken, err)
		close(h.dead)
	})
}

// An outlet takes FLV tags' bodies from a publisher.
type outlet interface {
	write(video []byte, ms uint32) error
	io.Closer
}

func (h *healthy) publish(ctx context.Context, out outlet) {
	defer func() { _ = out.Close() }()
	tick := time.NewTicker(frameEvery)
	defer tick.Stop()
	configuration := []byte{0x17, 0, 0, 0, 0, 1, 66, 0xC0, 30, 0xFF, 0xE1, 0, 4, 0x67, 66, 0xC0, 30, 1, 0, 2, 0x68, 0xCE}
	if err := out.write(configuration, 0); err != nil {
		h.breaks(ctx, fmt.Errorf("publisher: %w", err))
		return
	}
	for n := uint64(1); ; n++ {
		if err := out.write(picture(n), uint32(n)*uint32(frameEvery/time.Millisecond)); err != nil {
			h.breaks(ctx, fmt.Errorf("publisher, frame %d: %w", n, err))
			return
		}
		h.sent.Store(n)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// picture is the body of frame n: each is different all over.
func picture(n uint64) []byte {
	kind, unit := byte(0x27), byte(0x41)
	if n%25 == 1 {
		kind, unit = 0x17, 0x65
	}
	b := []byte{kind, 1, 0, 0, 0}
	b = append(append(b, be32(1+8+400)...), unit)
	b = binary.BigEndian.AppendUint64(b, n)
	state := n*0x9E3779B97F4A7C15 + 1
	for range 50 {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		b = binary.BigEndian.AppendUint64(b, state)
	}
	return b
}

// numberOf returns the number of a picture, or false for what is none.
func numberOf(body []byte) (uint64, bool) {
	if len(body) < 18 || body[1] != 1 {
		return 0, false
	}
	return binary.BigEndian.Uint64(body[10:]), true
}

func (h *healthy) watch(ctx context.Context, frames func(func([]byte)) error) {
	last := uint64(0)
	err := frames(func(body []byte) {
		n, ok := numberOf(body)
		switch {
		case !ok:
		case !bytes.Equal(body, picture(n)):
			h.breaks(ctx, fmt.Errorf("viewer: frame %d is not what was published", n))
		case last != 0 && n != last+1:
			h.breaks(ctx, fmt.Errorf("viewer: frame %d came after %d", n, last))
		default:
			last = n
			h.seen.Store(n)
		}
	})
	h.breaks(ctx, fmt.Errorf("viewer, after frame %d: %w", last, err))
}

// frameWait is how long a healthy client waits for an answer, and for room for a frame.
const frameWait = 10 * time.Second

// publisher begins to publish name, by the target's protocol. The outlet is closed, too,
// when ctx is done.
func (t target) publisher(ctx context.Context, name string) (outlet, error) {
	conn, err := t.dial(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	key := name + "?key=" + name // that it is this one's, for servers which let the same publisher come back
	if t.http() {
		o := &httpOutlet{conn, stop}
		path := "/" + t.app + "/" + name + ".flv?key=" + name
		_ = conn.SetWriteDeadline(time.Now().Add(frameWait))
		if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: video/x-flv\r\nTransfer-Encoding: chunked\r\n\r\n%s", path, t.host, piece(flvHead())); err != nil {
			return nil, errors.Join(err, o.Close())
		}
		return o, nil
	}
	o := &rtmpOutlet{conn: conn, r: sluice.NewBufReader(conn), stop: stop}
	if o.c, err = t.connect(conn, o.r); err == nil {
		err = o.c.Publish(key)
	}
	if err != nil {
		return nil, errors.Join(err, o.Close())
	}
	_ = conn.SetReadDeadline(time.Time{}) // a publisher may be answered nothing for as long as it publishes
	o.reading.Go(func() {                 // pings are answered by who reads
		for {
			m, err := o.c.ReadMessage()
			if err != nil {
				return
			}
			m.Release()
		}
	})
	return o, nil
}

// connect makes the handshake and connects to the application. r and the result are the
// caller's to recycle, also after an error.
func (t target) connect(conn net.Conn, r *sluice.BufReader) (*rtmp.Conn, error) {
	c := rtmp.NewConn(r, sluice.NewBufWriter(conn), rtmp.Options{})
	_ = conn.SetDeadline(time.Now().Add(frameWait))
	if err := c.ClientHandshake(); err != nil {
		return c, err
	}
	return c, c.Connect(rtmp.ConnectOptions{App: t.app, TCURL: t.scheme + "://" + t.host + "/" + t.app})
}

type httpOutlet struct {
	conn net.Conn
	stop func() bool
}

func (o *httpOutlet) write(body []byte, ms uint32) error {
	_ = o.conn.SetWriteDeadline(time.Now().Add(frameWait))
	_, err := o.conn.Write(piece(flvTag(9, ms, body)))
	return err
}

func (o *httpOutlet) Close() error {
	o.stop()
	return o.conn.Close()
}

type rtmpOutlet struct {
	conn    net.Conn
	r       *sluice.BufReader
	c       *rtmp.Conn
	stop    func() bool
	reading sync.WaitGroup
}

func (o *rtmpOutlet) write(body []byte, ms uint32) error {
	_ = o.conn.SetWriteDeadline(time.Now().Add(frameWait))
	err := o.c.WriteMessage(rtmp.Message{Type: rtmp.TypeVideo, StreamID: o.c.StreamID(), Time: ms, Payload: mem.Wrap(body, nil)})
	if err != nil {
		return err
	}
	return o.c.Flush()
}

func (o *rtmpOutlet) Close() error {
	o.stop()
	err := o.conn.Close()
	o.reading.Wait()
	o.c.Recycle()
	o.r.Recycle()
	return err
}

// viewer begins to play name. The function that it returns calls its argument with
// each picture's body, borrowed, until the stream or ctx ends, and has to be called.
func (t target) viewer(ctx context.Context, name string) (func(func([]byte)) error, error) {
	conn, err := t.dial(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	r := sluice.NewBufReader(conn)
	end := func() {
		stop()
		_ = conn.Close()
		r.Recycle()
	}
	if t.http() {
		d, err := t.viewHTTP(conn, r, name)
		if err != nil {
			end()
			return nil, err
		}
		return func(frame func([]byte)) error {
			defer end()
			return tags(d, frame)
		}, nil
	}
	c, err := t.connect(conn, r)
	if err == nil {
		err = c.Play(name)
	}
	if err != nil {
		c.Recycle()
		end()
		return nil, err
	}
	_ = conn.SetDeadline(time.Time{}) // how late frames may be is for caughtUp
	return func(frame func([]byte)) error {
		defer end()
		defer c.Recycle()
		for {
			m, err := c.ReadMessage()
			if err != nil {
				return err
			}
			if m.Type == rtmp.TypeVideo {
				frame(m.Payload.Bytes())
			}
			m.Release()
		}
	}, nil
}

// viewHTTP asks for the stream and reads the head of the answer.
func (t target) viewHTTP(conn net.Conn, r *sluice.BufReader, name string) (*flv.Decoder, error) {
	_ = conn.SetDeadline(time.Now().Add(frameWait))
	if _, err := fmt.Fprintf(conn, "GET /%s/%s.flv HTTP/1.0\r\nHost: %s\r\n\r\n", t.app, name, t.host); err != nil {
		return nil, err
	}
	line, err := r.ReadLine()
	if err == nil {
		_, err = r.ReadMIMEHeader()
	}
	if err == nil && (len(line) < 12 || line[9:12] != "200") {
		err = fmt.Errorf("%q, want %s", line, http.StatusText(http.StatusOK))
	}
	if err != nil {
		return nil, err
	}
	return flv.NewDecoder(r), conn.SetDeadline(time.Time{})
}

// tags calls frame with the body of each video tag, borrowed.
func tags(d *flv.Decoder, frame func([]byte)) error {
	if _, err := d.ReadHeader(); err != nil {
		return err
	}
	for {
		tag, err := d.Next()
		if err != nil {
			return err
		}
		if tag.Type == flv.TagVideo {
			frame(tag.Payload.Bytes())
		}
		tag.Release()
	}
}
