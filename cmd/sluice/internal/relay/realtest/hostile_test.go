//go:build linux

package realtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/sluicetest"
)

const (
	attackers    = 355
	attackGrowth = 10 << 20
	// attackersGone is how long an attacker's connection may last: the server's limits are
	// some 10 s, and one that has none lets an attacker stay for as long as it sends.
	attackersGone = 75 * time.Second
	// drips is how many seconds an attacker goes on that sends a byte in each.
	drips = 300
)

// An attack writes to a connection until it is done or fails; the connection
// stays open after that. Each has a source of random numbers of its own.
type attack struct {
	name string
	http bool
	run  func(w net.Conn, random *rand.Rand) error
	// reads tells that run reads what it needs; for the others all that the
	// server says is thrown away from the start.
	reads bool
}

var attacks = []attack{
	{name: "random bytes over RTMP", run: func(w net.Conn, random *rand.Rand) error {
		return junk(w, random, 1<<20)
	}},
	{name: "random bytes over HTTP", http: true, run: func(w net.Conn, random *rand.Rand) error {
		return junk(w, random, 1<<20)
	}},
	{name: "random bytes after the handshake", run: afterHandshake(func(w net.Conn, random *rand.Rand) error {
		return junk(w, random, 1<<20)
	})},
	{name: "silence over RTMP", run: func(net.Conn, *rand.Rand) error { return nil }},
	{name: "silence over HTTP", http: true, run: func(net.Conn, *rand.Rand) error { return nil }},
	{name: "half a handshake", run: func(w net.Conn, random *rand.Rand) error {
		_, err := w.Write(append([]byte{3}, make([]byte, 700)...))
		return err
	}},
	{name: "a handshake and silence", run: afterHandshake(func(net.Conn, *rand.Rand) error { return nil })},
	{name: "one byte a second over RTMP", run: func(w net.Conn, _ *rand.Rand) error {
		return drip(w, append([]byte{3}, make([]byte, drips)...))
	}},
	{name: "one byte a second over HTTP", http: true, run: func(w net.Conn, _ *rand.Rand) error {
		return drip(w, []byte("GET /live/s.flv HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", drips)))
	}},
	{name: "one byte a second after the handshake", run: afterHandshake(func(w net.Conn, _ *rand.Rand) error {
		return drip(w, append(chunkHead(3, 1<<20, 20), make([]byte, drips)...))
	})},
	{name: "16 MiB on each of 1,000 chunk streams", run: afterHandshake(func(w net.Conn, _ *rand.Rand) error {
		for id := range 1000 {
			if _, err := w.Write(append(chunkHead(64+id, 1<<24-1, 9), make([]byte, 128)...)); err != nil {
				return err
			}
		}
		return nil
	})},
	{name: "chunks of one byte", run: afterHandshake(func(w net.Conn, random *rand.Rand) error {
		p := append(chunkHead(2, 4, 1), 0, 0, 0, 1)
		p = append(p, chunkHead(3, 1<<18, 20)...)
		for i := range 1 << 17 {
			if i > 0 {
				p = append(p, 0xc3)
			}
			p = append(p, byte(random.Uint32()))
		}
		_, err := w.Write(p)
		return err
	})},
	{name: "a chunk size of 2^31-1", run: afterHandshake(func(w net.Conn, _ *rand.Rand) error {
		p := append(chunkHead(2, 4, 1), 0x7f, 0xff, 0xff, 0xff)
		p = append(p, chunkHead(3, 1<<24-1, 20)...)
		_, err := w.Write(append(p, make([]byte, 100)...))
		return err
	})},
	{name: "giant AMF, deep", run: afterHandshake(func(w net.Conn, _ *rand.Rand) error {
		body := amfNumber(amfString(nil, "connect"), 1)
		body = append(body, bytes.Repeat([]byte{3, 0, 1, 'a'}, 100_000)...)
		return chunked(w, body)
	})},
	{name: "giant AMF, wide", run: afterHandshake(func(w net.Conn, _ *rand.Rand) error {
		body := append(amfNumber(amfString(nil, "connect"), 1), 3)
		for i := range 100_000 {
			body = amfNumber(amfName(body, fmt.Sprint("p", i)), 1)
		}
		return chunked(w, append(body, 0, 0, 9))
	})},
	{name: "giant AMF, claimed", run: afterHandshake(func(w net.Conn, _ *rand.Rand) error {
		body := amfNumber(amfString(nil, "connect"), 1)
		return chunked(w, append(body, 0x0a, 0xff, 0xff, 0xff, 0xff, 0x0c, 0xff, 0xff, 0xff, 0xff))
	})},
	{name: "endless header lines", http: true, run: func(w net.Conn, _ *rand.Rand) error {
		if _, err := io.WriteString(w, "GET /live/s.flv HTTP/1.1\r\nHost: localhost\r\n"); err != nil {
			return err
		}
		return endless(w, "X-Header: and another one, and another one, and another one\r\n")
	}},
	{name: "one endless header line", http: true, run: func(w net.Conn, _ *rand.Rand) error {
		if _, err := io.WriteString(w, "GET /live/s.flv HTTP/1.1\r\nHost: localhost\r\nX: "); err != nil {
			return err
		}
		return endless(w, "and another word ")
	}},
	{name: "an unknown stream over RTMP", run: func(w net.Conn, random *rand.Rand) error {
		_, err := playRTMP(w, "live", fmt.Sprint("nosuch", random.Uint32()))
		return err
	}, reads: true},
	{name: "an unknown stream over HTTP", http: true, run: func(w net.Conn, random *rand.Rand) error {
		_, err := fmt.Fprintf(w, "GET /live/nosuch%d.flv HTTP/1.1\r\nHost: localhost\r\n\r\n", random.Uint32())
		return err
	}},
	{name: "an unknown stream over WebSocket", http: true, run: func(w net.Conn, random *rand.Rand) error {
		_, err := playWebSocket(w, fmt.Sprintf("/live/nosuch%d.flv", random.Uint32()))
		return err
	}, reads: true},
	{name: "what is not FLV, published", http: true, run: func(w net.Conn, random *rand.Rand) error {
		if _, err := fmt.Fprintf(w, "POST /live/bad%d.flv HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n", random.Uint32()); err != nil {
			return err
		}
		return junk(w, random, 1<<18)
	}},
	{name: "a tag of 16 MiB, published and not sent", http: true, run: func(w net.Conn, random *rand.Rand) error {
		if _, err := fmt.Fprintf(w, "POST /live/big%d.flv HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n", random.Uint32()); err != nil {
			return err
		}
		_, err := w.Write(append(append([]byte(nil), flvHeader...), tagVideo, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0x17))
		return err
	}},
}

// afterHandshake runs an attack that begins with the first chunk.
func afterHandshake(run func(net.Conn, *rand.Rand) error) func(net.Conn, *rand.Rand) error {
	return func(w net.Conn, random *rand.Rand) error {
		hello := make([]byte, 1+1536)
		hello[0] = 3
		if _, err := w.Write(hello); err != nil {
			return err
		}
		// The answer goes to the reader of this connection; C2 need not echo it.
		if _, err := w.Write(hello[1:]); err != nil {
			return err
		}
		return run(w, random)
	}
}

func junk(w net.Conn, random *rand.Rand, n int) error {
	p := make([]byte, 4096)
	for ; n > 0; n -= len(p) {
		for i := 0; i < len(p); i += 8 {
			binary.LittleEndian.PutUint64(p[i:], random.Uint64())
		}
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	return nil
}

func drip(w net.Conn, p []byte) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for i := range p {
		if _, err := w.Write(p[i : i+1]); err != nil {
			return err
		}
		<-tick.C
	}
	return nil
}

func endless(w net.Conn, line string) error {
	block := bytes.Repeat([]byte(line), 64)
	for {
		if _, err := w.Write(block); err != nil {
			return err
		}
	}
}

// chunkHead is the head of a chunk of format 0.
func chunkHead(id, length int, kind byte) []byte {
	var p []byte
	switch {
	case id < 64:
		p = append(p, byte(id))
	case id < 320:
		p = append(p, 0, byte(id-64))
	default:
		p = append(p, 1, byte(id-64), byte((id-64)>>8))
	}
	return append(p, 0, 0, 0, byte(length>>16), byte(length>>8), byte(length), kind, 0, 0, 0, 0)
}

// chunked sends a command in chunks of 128 bytes.
func chunked(w net.Conn, body []byte) error {
	p := chunkHead(3, len(body), 20)
	for i := 0; i < len(body); i += 128 {
		if i > 0 {
			p = append(p, 0xc3)
		}
		p = append(p, body[i:min(len(body), i+128)]...)
	}
	_, err := w.Write(p)
	return err
}

// Hundreds of connections that mean no good cost little, are gone soon, and
// those who watch notice nothing.
func TestHostileConnections(t *testing.T) {
	seed := sluicetest.Seed(t)
	s := serve(t, options{})
	p := publishHTTP(t, "POST", "http://"+s.HTTP+"/live/s.flv")
	f := feedTo(t, p, pace{})
	s.awaitLive(t, "live/s")
	var viewers []*viewer
	for _, way := range []string{"flv", "rtmp", "ws", "flv", "rtmp"} {
		viewers = append(viewers, s.view(t, way, "s", ""))
	}
	for _, v := range viewers {
		v.awaitMedia(t, 100)
	}
	before := resident(t, s.PID)
	highest := highWater(t, s.PID)

	late := make(chan string, attackers)
	var wg sync.WaitGroup
	began := time.Now()
	for i := range attackers {
		a := attacks[i%len(attacks)]
		address := s.RTMP
		if a.http {
			address = s.HTTP
		}
		wg.Go(func() {
			conn, err := net.DialTimeout("tcp", address, attackersGone)
			if err != nil {
				return // refused at the door
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(attackersGone))
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			if a.reads {
				a.run(conn, random)
			} else {
				wg.Go(func() { a.run(conn, random) })
			}
			if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
				late <- a.name
			}
		})
	}
	wg.Wait()
	close(late)
	took := time.Since(began)
	count := map[string]int{}
	for name := range late {
		count[name]++
	}
	for name, n := range count {
		t.Errorf("%s: %d connections were still open after %v", name, n, attackersGone)
	}
	grown := highest() - before
	t.Logf("%d connections, all gone after %v, resident memory %d KiB, grown by at most %d KiB", attackers, took.Round(time.Millisecond), before>>10, grown>>10)
	if measured() && grown >= attackGrowth {
		t.Errorf("the server's memory has grown by %d bytes, at most %d", grown, attackGrowth)
	}
	// A client may see the end of its connection before the server has forgotten its session.
	eventually(t, lengthened(10*time.Second), func() string {
		for _, c := range s.clients(t) {
			if c.Stream != "live/s" {
				return fmt.Sprintf("still there: %+v", c)
			}
		}
		if got := s.streams(t); len(got) != 1 {
			return fmt.Sprintf("the streams are now %+v", got)
		}
		return ""
	})
	checkViewers(t, f, viewers)
}

// checkViewers stops publishing; every viewer must have got one run of what was
// published, to its end.
func checkViewers(t testing.TB, f *feed, viewers []*viewer) {
	t.Helper()
	published := f.finish(t)
	for _, v := range viewers {
		v.awaitLast(t, published[len(published)-1])
		checkRun(t, v.name, v.media(), published)
	}
}
