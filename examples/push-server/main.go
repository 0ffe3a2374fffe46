// Command push-server sends a line to every connected client, every second. It
// shows how one piece of memory goes out to many connections without a copy, and
// what becomes of a client that does not keep up: -slow says which policy it is.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

const usage = `push-server sends a line to every connected client, every second.

usage: push-server [flags]

A client that has not taken what was sent to it before is slow. With -slow queue lines
wait for it, and when they hold more than -queue bytes it is disconnected; with -slow
skip it misses lines; with -slow close it is disconnected at once.
An interrupt or SIGTERM ends the server. Try it with: nc 127.0.0.1 7001

flags:
`

var policies = map[string]aio.SlowPolicy{"queue": aio.SlowQueue, "skip": aio.SlowSkip, "close": aio.SlowClose}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		log.Fatalln("push-server:", err)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("push-server", flag.ExitOnError)
	addr := flags.String("addr", "127.0.0.1:7001", "listen on this `address`; port 0 takes any that is free")
	n := flags.Int("watchers", 1, "so many event loops, which share the clients")
	every := flags.Duration("every", time.Second, "send a line this often")
	slow := flags.String("slow", "queue", "what becomes of slow clients: queue, skip or close")
	queue := flags.Int("queue", 64<<10, "disconnect a client for which more than so many `bytes` wait")
	flags.Usage = func() { fmt.Fprint(flags.Output(), usage); flags.PrintDefaults() }
	if err := flags.Parse(args); err != nil {
		return err
	}
	policy, known := policies[*slow]
	if flags.NArg() > 0 || *n < 1 || *every <= 0 || *queue < 1 || !known {
		return fmt.Errorf("want no arguments but flags, each number above 0 and a policy of queue, skip, close, got %q", args)
	}
	listeners, err := listen(ctx, *addr, *queue)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "listening on", listeners[0].Addr())
	h := newHub(log.New(os.Stderr, "", log.LstdFlags), policy)
	ctx, stop := context.WithCancel(ctx)
	var ticking sync.WaitGroup
	ticking.Go(func() { h.tick(ctx, *every) })
	err = h.server(*n, *queue).Serve(ctx, listeners)
	stop()
	ticking.Wait()
	return err
}

// listen opens the listener. As much as in its queue waits for a client in the kernel.
func listen(ctx context.Context, addr string, queue int) ([]net.Listener, error) {
	listeners, err := aio.Listen(ctx, "tcp", addr, 1)
	if err != nil {
		return nil, err
	}
	if err := bound(listeners[0], queue); err != nil {
		listeners[0].Close()
		return nil, err
	}
	return listeners, nil
}

// place is the state of a client: where in hub.clients it is.
type place struct{ at int }

// hub knows the clients. Each watcher's goroutine calls it, and the pushing one.
type hub struct {
	handler aio.ConnHandler[place]
	slow    aio.SlowPolicy
	log     *log.Logger
	mu      sync.Mutex
	clients []*aio.Conn[place]
}

func newHub(l *log.Logger, slow aio.SlowPolicy) *hub {
	h := &hub{log: l, slow: slow}
	h.handler = aio.ConnHandler[place]{
		Open:   h.open,
		Data:   func(*aio.Conn[place], []byte) error { return nil }, // what clients say is thrown away
		Closed: h.closed,
	}
	return h
}

func (h *hub) server(watchers, queue int) *aio.Server {
	return &aio.Server{Handler: &h.handler, Watchers: watchers, Options: aio.Options{QueueLimit: queue, QueuePolicy: aio.QueueClose}}
}

func (h *hub) open(c *aio.Conn[place]) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.State.at = len(h.clients)
	h.clients = append(h.clients, c)
	return nil
}

func (h *hub) closed(c *aio.Conn[place], reason error) {
	h.mu.Lock()
	last := len(h.clients) - 1
	h.clients[last].State.at = c.State.at
	h.clients[c.State.at], h.clients[last] = h.clients[last], nil
	h.clients = h.clients[:last]
	h.mu.Unlock()
	if errors.Is(reason, aio.ErrQueueFull) {
		h.log.Printf("%v does not keep up: disconnected", c.RemoteAddr())
	}
}

func (h *hub) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.clients)
}

// push sends line, transferred, to every client. It waits for none of them.
func (h *hub) push(line mem.Buf) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handler.WriteMany(h.clients, line, h.slow) //sluice:moved
}

// tick pushes the time until ctx is done.
func (h *hub) tick(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			text := fmt.Sprintf("%s, %d here\n", now.Format("15:04:05.000"), h.size())
			line := mem.Default().Get(len(text))
			copy(line.Bytes(), text)
			h.push(line) //sluice:moved
		case <-ctx.Done():
			return
		}
	}
}
