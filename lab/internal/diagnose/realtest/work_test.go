package realtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// endless reads a stretch of memory again and again.
type endless struct{ r *bytes.Reader }

func (e endless) Read(p []byte) (int, error) {
	if e.r.Len() == 0 {
		e.r.Reset(stream)
	}
	return e.r.Read(p)
}

// stream is packets of 128 to 1,400 bytes behind a length.
var stream = func() []byte {
	var b []byte
	for i := range 1000 {
		n := 128 + i*7919%1273
		b = append(binary.BigEndian.AppendUint32(b, uint32(n)), bytes.Repeat([]byte{byte(i)}, n)...)
	}
	return b
}()

func slicePerPacket(mended bool) {
	in := bufio.NewReaderSize(endless{bytes.NewReader(nil)}, 64<<10)
	var kept []byte
	var seen [16][]byte
	for i := 0; ; i++ {
		p := readPacket(in, kept)
		if seen[i%len(seen)] = p; mended {
			kept = p
		}
	}
}

// readPacket reads the next packet, into memory of its own unless there is some to use again.
func readPacket(r io.Reader, again []byte) []byte {
	var head [4]byte
	_, err := io.ReadFull(r, head[:])
	must(err)
	n := int(binary.BigEndian.Uint32(head[:]))
	p := again
	if cap(p) < n {
		p = make([]byte, n, max(n, cap(again)))
	}
	_, err = io.ReadFull(r, p[:n])
	must(err)
	return p[:n]
}

// A tally counts what one worker has seen.
type tally struct{ packets, bytes atomic.Uint64 }

// A paddedTally has two lines for itself: some processors fetch pairs.
type paddedTally struct {
	tally
	_ [128 - 16]byte
}

func sharedCounter(mended bool) {
	var close [4]tally
	var apart [4]paddedTally
	for i := range close {
		own := &close[i]
		if mended {
			own = &apart[i].tally
		}
		go count(own)
	}
	select {}
}

func count(own *tally) {
	for i := uint64(0); ; i++ {
		if i*2654435761%1500 > 40 {
			own.packets.Add(1)
			own.bytes.Add(i % 1500)
		}
	}
}

// A storeClient keeps records in a store, and books on what the store has taken.
type storeClient struct {
	mu     sync.Mutex
	stored int
}

func lockOverIO(mended bool) {
	var c storeClient
	for range 8 {
		near, far := loopback()
		go store(far)
		go func() {
			for {
				if mended {
					c.put(near)
				} else {
					c.putLocked(near)
				}
			}
		}()
	}
	select {}
}

// store sends each record back, after a while.
func store(conn net.Conn) {
	var record [2048]byte
	for {
		_, err := io.ReadFull(conn, record[:])
		must(err)
		time.Sleep(time.Millisecond)
		_, err = conn.Write(record[:])
		must(err)
	}
}

func (c *storeClient) putLocked(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	exchange(conn)
	c.stored++
}

func (c *storeClient) put(conn net.Conn) {
	exchange(conn)
	c.mu.Lock()
	c.stored++
	c.mu.Unlock()
}

func exchange(conn net.Conn) {
	var record [2048]byte
	_, err := conn.Write(record[:])
	must(err)
	_, err = io.ReadFull(conn, record[:])
	must(err)
}

// lockConvoy is a server of net/http with its clients.
func lockConvoy(mended bool) {
	var mu sync.Mutex
	scores := map[int]uint64{}
	handle := func(w http.ResponseWriter, _ *http.Request) {
		if mended {
			n := rank(1)
			mu.Lock()
			scores[1] += n
			mu.Unlock()
			return
		}
		mu.Lock()
		defer mu.Unlock()
		scores[1] += rank(40)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	for range 8 {
		go ask("http://" + l.Addr().String())
	}
	must(http.Serve(l, http.HandlerFunc(handle)))
}

// rank computes for some 20 µs a round.
func rank(rounds int) uint64 {
	n := uint64(1)
	for i := range rounds * 10_000 {
		n = n*6364136223846793005 + uint64(i)
	}
	return n
}

func ask(url string) {
	client := http.Client{Transport: &http.Transport{}}
	for {
		response, err := client.Get(url)
		must(err)
		_, err = io.Copy(io.Discard, response.Body)
		must(err)
		must(response.Body.Close())
	}
}

func goroutineLeak(mended bool) {
	for range 5000 { // as many as an honest server may have
		go func() { <-make(chan string) }()
	}
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Millisecond)
		askReplica(ctx, mended)
		cancel()
	}
}

// askReplica asks a slow service and gives up early.
func askReplica(ctx context.Context, mended bool) string {
	answer := make(chan string)
	if mended {
		answer = make(chan string, 1)
	}
	go func() {
		time.Sleep(4 * time.Millisecond)
		answer <- "late"
	}()
	select {
	case text := <-answer:
		return text
	case <-ctx.Done():
		return ""
	}
}

func timerPerMessage(mended bool) {
	message := make([]byte, 512)
	var heard atomic.Int64
	var idle *time.Timer
	idle = time.AfterFunc(time.Minute, func() { idle.Reset(time.Minute - time.Duration(heard.Load())%time.Minute) })
	for n := int64(0); ; n++ {
		binary.BigEndian.PutUint32(message, crc32.ChecksumIEEE(message))
		if mended {
			heard.Store(n)
			continue
		}
		heardFrom(idle)
	}
}

//go:noinline
func heardFrom(idle *time.Timer) { idle.Reset(time.Minute) }

func busySpin(mended bool) {
	work := make(chan int)
	go func() {
		for i := 0; ; i++ {
			time.Sleep(5 * time.Millisecond)
			work <- i
		}
	}()
	for {
		if mended {
			<-work
			continue
		}
		takeWork(work)
	}
}

// takeWork looks whether there is work. Inlined, its place in a profile would be that of
// its caller now and then.
//
//go:noinline
func takeWork(work <-chan int) (n int, ok bool) {
	select {
	case n = <-work:
		return n, true
	default:
		return 0, false
	}
}
