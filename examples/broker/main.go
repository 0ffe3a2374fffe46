// Command broker passes frames on to the subscribers of a topic, without a copy.
// Each frame has a 4-byte length in front. "S topic" subscribes, "P topic\npayload"
// publishes: subscribers get that frame unchanged. A slow subscriber loses frames,
// the oldest in its queue first, and does not delay the others.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"log"
	"maps"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

const (
	partial   = 10 * time.Second // for the rest of a frame that has begun
	slowest   = time.Minute      // for a subscriber to take what is written to it
	pause     = time.Second / 10 // after a client that could not be accepted
	maxFrame  = 64 << 10         // bytes
	maxTopics = 100              // that a client may subscribe to
	maxName   = 200              // bytes of a topic's name
)

type broker struct {
	memory *mem.Allocator
	mu     sync.Mutex
	topics map[string]map[*client]bool
	refs   []mem.Buf // scratch of publish
}

type client struct {
	queue  chan mem.Buf // closed when no publisher can send to it any more
	missed int          // with broker.mu, as topics
	topics int
}

func main() {
	addr := flag.String("addr", "127.0.0.1:7002", "listen on this `address`")
	queue := flag.Int("queue", 64, "so many `frames` may wait for a subscriber; the oldest gives way")
	flag.Parse()
	if flag.NArg() > 0 || *queue < 1 {
		log.Fatalf("broker: want no arguments but flags, and a queue of at least 1 frame, got %q", os.Args[1:])
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatalf("broker: %v", err)
	}
	fmt.Println("listening on", l.Addr())
	serve(ctx, l, mem.Default(), *queue)
}

// serve serves clients until ctx is done, and returns when all are gone.
func serve(ctx context.Context, l net.Listener, memory *mem.Allocator, queue int) {
	b := &broker{memory: memory, topics: make(map[string]map[*client]bool)}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	var clients sync.WaitGroup
	defer clients.Wait()
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return
		case errors.Is(err, net.ErrClosed):
			log.Print(err)
			return
		default: // descriptors have run out, for example: those who are here go on
			log.Print(err)
			time.Sleep(pause)
			continue
		}
		clients.Go(func() {
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			c := &client{queue: make(chan mem.Buf, queue)}
			clients.Go(func() { c.write(conn) })
			err := b.read(c, conn)
			conn.Close() // so that a write that waits ends
			log.Printf("%v: %v, missed %d frames", conn.RemoteAddr(), err, b.leave(c))
		})
	}
}

func (b *broker) read(c *client, conn net.Conn) error {
	r := sluice.NewBufReader(conn, sluice.Options{Allocator: b.memory})
	defer r.Recycle()
	for {
		// A client may say nothing for as long as it likes, but not stop within a frame.
		if _, err := r.Peek(1); err != nil {
			return err
		}
		conn.SetReadDeadline(time.Now().Add(partial))
		frame, err := r.ReadFrame(4, binary.BigEndian, maxFrame) // retained
		if err != nil {
			return err
		}
		conn.SetReadDeadline(time.Time{})
		line, _, _ := bytes.Cut(frame.Bytes(), []byte("\n"))
		switch op, topic, _ := strings.Cut(string(line), " "); op {
		case "P":
			b.publish(topic, frame)
		case "S":
			frame.Release()
			if err := b.subscribe(topic, c); err != nil {
				return err
			}
		default:
			frame.Release()
			return fmt.Errorf("unknown operation %q", op)
		}
	}
}

func (b *broker) subscribe(topic string, c *client) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.topics[topic][c] {
		return nil
	}
	if c.topics == maxTopics || len(topic) > maxName {
		return fmt.Errorf("subscription %d, to a name of %d bytes: too many", c.topics+1, len(topic))
	}
	if b.topics[topic] == nil {
		b.topics[topic] = make(map[*client]bool)
	}
	b.topics[topic][c] = true
	c.topics++
	return nil
}

// publish hands frame, transferred, to the subscribers of topic.
func (b *broker) publish(topic string, frame mem.Buf) {
	b.mu.Lock()
	defer b.mu.Unlock()
	to := b.topics[topic]
	b.refs = append(b.refs[:0], make([]mem.Buf, len(to))...)
	frame.Share(b.refs) // one atomic operation for every 18
	frame.Release()
	for c := range to {
		if len(c.queue) == cap(c.queue) {
			select {
			case oldest := <-c.queue:
				oldest.Release()
				c.missed++
			default: // its writer has just made room
			}
		}
		last := len(b.refs) - 1
		c.queue <- b.refs[last] // does not wait: only here is sent, with the lock held
		b.refs = b.refs[:last]
	}
}

// leave ends the subscriptions of c and returns how many frames it missed.
func (b *broker) leave(c *client) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.topics, func(_ string, to map[*client]bool) bool {
		delete(to, c)
		return len(to) == 0
	})
	close(c.queue)
	return c.missed
}

// write sends what is queued, in one system call while more is waiting.
func (c *client) write(conn net.Conn) {
	w := sluice.NewBufWriter(conn)
	defer w.Recycle()
	_ = w.SetTimeout(slowest) // a connection of package net has deadlines
	for frame := range c.queue {
		// An error stays, so that the rest is only released.
		if w.WriteFrame(4, binary.BigEndian, frame) != nil || len(c.queue) == 0 && w.Flush() != nil {
			conn.Close() // read sees it
		}
	}
}
