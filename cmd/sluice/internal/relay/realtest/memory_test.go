//go:build linux

package realtest

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// The sum of all streams stays within max-memory, a publisher that is refused for
// lack of memory gets the reason, and unused memory is returned to the system.
func TestMaxMemory(t *testing.T) {
	const (
		most    = 64 << 20
		streams = 24
		size    = 256 << 10 // bytes of a frame
		frames  = 40        // 10 MiB a stream
	)
	s := serve(t, options{flags: []string{"--max-memory", "64MiB", "--grace", "0s"}})
	idle := resident(t, s.PID)
	highest := highWater(t, s.PID)
	var posts []*post
	for i := range streams {
		posts = append(posts, publishHTTP(t, "POST", fmt.Sprintf("http://%s/live/s%d.flv", s.HTTP, i)))
	}
	body := append([]byte("\x12\x01\x00\x00\x00"), make([]byte, size)...)
	for n := range frames {
		for i, p := range posts {
			body[0] = 0x22
			if n == 0 {
				body[0] = 0x12
			}
			if err := p.send(tag{Type: tagVideo, Time: uint32(n * 40), Data: body}); err != nil {
				t.Fatalf("stream %d, frame %d: %v", i, n, err)
			}
		}
	}
	// They go on, a little, until the test has done: a silent publisher is ended.
	var going sync.WaitGroup
	done := make(chan struct{})
	goOn := sync.OnceFunc(func() { close(done); going.Wait() })
	t.Cleanup(goOn)
	for _, p := range posts {
		going.Go(func() {
			for n := frames; ; n++ {
				select {
				case <-time.After(time.Second):
				case <-done:
					return
				}
				if p.send(tag{Type: tagVideo, Time: uint32(n * 40), Data: append([]byte("\x22\x01\x00\x00\x00"), make([]byte, 1000)...)}) != nil {
					return
				}
			}
		})
	}
	for i := range streams {
		name := fmt.Sprintf("live/s%d", i)
		eventually(t, lengthened(20*time.Second), func() string {
			if info := s.stream(t, name); info == nil || info.FramesIn < frames {
				return name + " has not come"
			}
			return ""
		})
	}
	// The binary, the collector's and the readers' share come on top.
	if grown := highest() - idle; measured() && grown > 2*most {
		t.Errorf("the memory has grown by %d MiB with max-memory 64MiB and 240 MiB of streams", grown>>20)
	}

	// Frames of which the end does not come, and which nothing may drop: until
	// there is no room.
	refused := ""
	answers := make(chan string, 40)
	var halves []net.Conn
	head := "FLV\x01\x05\x00\x00\x00\x09\x00\x00\x00\x00" + "\x09\x7f\xff\xff\x00\x00\x00\x00\x00\x00\x00"
	half := []byte(head + strings.Repeat("x", 7<<20))
	for i := 0; i < cap(answers) && refused == ""; i++ {
		c, err := net.Dial("tcp", s.HTTP)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		halves = append(halves, c)
		c.SetDeadline(time.Now().Add(eventTimeout))
		fmt.Fprintf(c, "POST /live/half%d.flv HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n", i)
		written := make(chan struct{})
		going.Go(func() { // then a little, as above
			_, err := c.Write(half)
			close(written)
			for err == nil {
				select {
				case <-time.After(time.Second):
					_, err = c.Write(half[len(half)-1000:])
				case <-done:
					return
				}
			}
		})
		going.Go(func() {
			answer, _ := io.ReadAll(c)
			answers <- string(answer)
		})
		// A refused publisher gets its answer while it sends, or right after.
		soon := time.NewTimer(lengthened(5 * time.Second))
		select {
		case refused = <-answers:
		case <-soon.C: // what it sends is not taken
		case <-written:
			soon.Reset(150 * time.Millisecond)
			select {
			case refused = <-answers:
			case <-soon.C:
			}
		}
		soon.Stop()
	}
	if refused == "" {
		refused = receive(t, lengthened(10*time.Second), "answer to who comes when the memory is full", answers)
	}
	if !strings.HasPrefix(refused, "HTTP/1.1 503") || !strings.Contains(refused, "max-memory") {
		t.Errorf("after %d who comes when the memory is full is told %q", len(halves), refused)
	}

	for _, c := range halves {
		c.Close()
	}
	goOn()
	for _, p := range posts {
		if err := p.end(t); err != nil {
			t.Error(err)
		}
	}
	began := time.Now()
	eventually(t, lengthened(15*time.Second), func() string {
		if left := resident(t, s.PID) - idle; measured() && left > 24<<20 {
			return fmt.Sprintf("%d MiB more than before", left>>20)
		}
		return ""
	})
	t.Logf("%d MiB at most, and back after %v", (highest()-idle)>>20, time.Since(began).Round(time.Millisecond))
}
