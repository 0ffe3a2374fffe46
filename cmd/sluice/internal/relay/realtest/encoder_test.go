//go:build linux

package realtest

import (
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	encoderStep  = 40 * time.Millisecond // between two pictures
	encoderGroup = 25                    // pictures from a key frame to the next
	// A picture has a head, in which encoder and number stand, and fill.
	encoderHead, encoderFill = 10, 4000
)

// An encoder publishes numbered pictures in real time, and connects again and again, as
// those of broadcasters do. Its numbers and times go on while it is not connected.
type encoder struct {
	id      byte
	stream  string                 // below live/
	to      atomic.Pointer[string] // address of an HTTP listener
	silence atomic.Bool            // it sends nothing, and stays connected
	halt    chan struct{}
	running sync.WaitGroup
}

// encode starts an encoder of live/s, which ends with the test.
func encode(t testing.TB, id byte, address string) *encoder { return encodeAs(t, id, "s", address) }

func encodeAs(t testing.TB, id byte, stream, address string) *encoder {
	e := &encoder{id: id, stream: stream, halt: make(chan struct{})}
	e.to.Store(&address)
	e.running.Go(func() {
		began := time.Now()
		for e.wait(50 * time.Millisecond) {
			e.connection(began)
		}
	})
	t.Cleanup(sync.OnceFunc(func() {
		close(e.halt)
		e.running.Wait()
	}))
	return e
}

func (e *encoder) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-e.halt:
		return false
	}
}

// connection publishes until it is disconnected. The first picture is a key frame.
func (e *encoder) connection(began time.Time) {
	conn, err := net.DialTimeout("tcp", *e.to.Load(), time.Second)
	if err != nil {
		return
	}
	defer conn.Close()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		conn.Read(make([]byte, 1)) // an answer is a refusal
	}()
	p := append([]byte("POST /live/"+e.stream+".flv HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\n"), flvHeader...)
	p = tag{Type: tagVideo, Data: []byte{0x17, 0, 0, 0, 0, 'c', e.id}}.append(p)
	first := int(time.Since(began)/encoderStep) + 1
	for n := first; ; n++ { // a machine that is slow makes it late, and skips none
		if !e.wait(time.Until(began.Add(time.Duration(n) * encoderStep))) {
			return
		}
		if e.silence.Load() {
			continue
		}
		p = e.picture(n, n == first || n%encoderGroup == 0).append(p)
		conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
		if _, err := conn.Write(p); err != nil {
			return
		}
		p = p[:0]
		select {
		case <-answered:
			return
		default:
		}
	}
}

// picture is that with a number: of some 4 kB, in which encoder and number stand.
func (e *encoder) picture(n int, key bool) tag {
	head := byte(0x27)
	if key {
		head = 0x17
	}
	body := append([]byte{head, 1, 0, 0, 0}, e.id)
	body = binary.BigEndian.AppendUint32(body, uint32(n))
	for i := range encoderFill {
		body = append(body, e.id+byte(n)+byte(i))
	}
	return tag{Type: tagVideo, Time: uint32(n) * uint32(encoderStep.Milliseconds()), Data: body}
}

// parsePicture returns the encoder and the number of a picture, and whether it is as picture
// made it. It allocates nothing: a thousand viewers check 25,000 a second.
func parsePicture(body []byte) (id byte, n int, ok bool) {
	if len(body) != encoderHead+encoderFill {
		return 0, 0, false
	}
	id, n = body[5], int(binary.BigEndian.Uint32(body[6:]))
	ok = (body[0] == 0x17 || body[0] == 0x27) && string(body[1:5]) == "\x01\x00\x00\x00"
	for i, b := range body[encoderHead:] {
		ok = ok && b == id+byte(n)+byte(i)
	}
	return id, n, ok
}

// A seenPicture is one that a viewer got.
type seenPicture struct {
	id   byte
	n    int
	key  bool
	time uint32
	at   time.Time
}

// An audience is a viewer of encoders, who checks what it gets.
type audience struct {
	name string

	mu       sync.Mutex
	pictures int
	switches int
	latest   seenPicture
	longest  time.Duration // without a picture
	since    time.Time     // when that began
	skipped  int           // pictures that are missing within what one encoder sent
	err      error         // the first thing that is wrong
}

// observe starts a viewer of live/s: flv, ws or rtmp.
func (s *server) observe(t testing.TB, way string) *audience { return s.observeStream(t, way, "s") }

func (s *server) observeStream(t testing.TB, way, stream string) *audience {
	t.Helper()
	address := s.HTTP
	if way == "rtmp" {
		address = s.RTMP
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	a := &audience{name: fmt.Sprintf("%s viewer %s", way, conn.LocalAddr())}
	over := make(chan struct{})
	t.Cleanup(func() {
		conn.Close()
		<-over
	})
	go func() {
		defer close(over)
		var src tagSource
		var err error
		switch way {
		case "flv":
			src, err = playHTTP(conn, "/live/"+stream+".flv?wait=30")
		case "ws":
			src, err = playWebSocket(conn, "/live/"+stream+".flv?wait=30")
		default:
			src, err = playRTMP(conn, "live", stream+"?wait=30")
		}
		for {
			var g tag
			if err == nil {
				g, err = src.next()
			}
			if err != nil {
				a.fail(fmt.Errorf("disconnected: %w", err))
				return
			}
			if g.Type == tagVideo && g.media() {
				a.take(g)
			}
		}
	}()
	return a
}

func (a *audience) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = err
	}
}

// take checks a picture: it is one that was published, unaltered, and follows the one
// before it, or is a key frame after a change of encoder or connection; times rise.
func (a *audience) take(g tag) {
	if len(g.Data) < 10 {
		a.fail(fmt.Errorf("a picture of %d bytes", len(g.Data)))
		return
	}
	p := seenPicture{id: g.Data[5], n: int(binary.BigEndian.Uint32(g.Data[6:])), key: g.key(), time: g.Time, at: time.Now()}
	e := encoder{id: p.id}
	was := a.now()
	switch {
	case string(e.picture(p.n, p.key).Data) != string(g.Data):
		a.fail(fmt.Errorf("picture %d of %c is not as it was published", p.n, p.id))
	case was.at.IsZero():
		if !p.key {
			a.fail(fmt.Errorf("the first picture is no key frame"))
		}
	case p.time <= was.time:
		a.fail(fmt.Errorf("picture %d of %c has time %d after %d", p.n, p.id, p.time, was.time))
	case p.id == was.id && p.n <= was.n:
		a.fail(fmt.Errorf("picture %d of %c after its %d", p.n, p.id, was.n))
	case (p.id != was.id || p.n != was.n+1) && !p.key:
		a.fail(fmt.Errorf("picture %d of %c, which is no key frame, after %d of %c", p.n, p.id, was.n, was.id))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !was.at.IsZero() {
		if gap := p.at.Sub(was.at); gap > a.longest {
			a.longest, a.since = gap, was.at
		}
		if p.id != was.id {
			a.switches++
		} else {
			a.skipped += p.n - was.n - 1
		}
	}
	a.pictures++
	a.latest = p
}

// again begins to measure the longest gap anew.
func (a *audience) again() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.longest = 0
}

func (a *audience) now() seenPicture {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.latest
}

// sees waits until a viewer gets pictures of an encoder, and n more.
func (a *audience) sees(t testing.TB, id byte, n int) {
	t.Helper()
	begin := -1
	eventually(t, lengthened(30*time.Second), func() string {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.err != nil {
			t.Fatalf("%s: %v", a.name, a.err)
		}
		if begin < 0 && a.latest.id == id {
			begin = a.pictures
		}
		if begin < 0 || a.pictures < begin+n {
			return fmt.Sprintf("%s does not get encoder %c: %d pictures, the latest is %d of %c, %v ago", a.name, id, a.pictures, a.latest.n, a.latest.id, time.Since(a.latest.at))
		}
		return ""
	})
}
