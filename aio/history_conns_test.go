package aio_test

import (
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// connHistory is a server with a ConnHandler and clients that come and go. The first byte
// of a client says what the two do. One that is faithful gets each byte back, and then the
// end; with all others the server or the client does whatever comes to its mind.
type connHistory struct {
	t       *testing.T
	driver  aio.Driver
	hard    bool // memory and time are short: nothing need come back whole
	handler *aio.ConnHandler[passage]
	memory  *mem.Allocator
	server  *connServer // for the clients
	addr    string
	single  bool // there is one watcher: all connections have the same goroutine

	ending                  atomic.Bool // of the server
	opened, closed, refused atomic.Int64
	live                    sync.Map // of *aio.Conn[passage], those of clients that are not faithful
}

// The first byte of a client.
const (
	faithful = 'f'
	wild     = 'w'
)

// passage is the state of a connection at the server.
type passage struct {
	rng     *rand.Rand
	seed    uint64
	inside  atomic.Bool // a callback is under way
	over    bool        // Closed was called
	kind    byte
	waiting []byte // to be echoed when the pause is over
	pausing bool
	ended   bool // the peer has, and its echo is not out

	attached bool // by the program
}

func newConnHistory(t *testing.T, driver aio.Driver, config *tls.Config, seed uint64, hard bool) *connHistory {
	limit, budget, queue := atMost, int64(0), 1<<20
	if hard {
		limit, budget, queue = 20*time.Millisecond, 128<<10, 32<<10
	}
	h := &connHistory{t: t, driver: driver, hard: hard, memory: mem.New(mem.Options{Name: t.Name(), Leak: mem.LeakTrace, Budget: budget})}
	sluicetest.NoLeaks(t, h.memory)
	rng := rand.New(rand.NewPCG(seed, 0))
	h.handler = &aio.ConnHandler[passage]{
		TLS:         config,
		Open:        h.open,
		Ended:       h.ended,
		Closed:      h.end,
		Refused:     func(net.Addr, error) { h.refused.Add(1) },
		IdleTimeout: limit, WriteTimeout: limit, HandshakeTimeout: limit,
		Handshakes: []int{0, 2}[rng.IntN(2)],
	}
	if rng.IntN(2) == 0 {
		h.handler.Data = h.data
	} else {
		h.handler.Buf = func(c *aio.Conn[passage], b mem.Buf) error {
			defer b.Release()
			return h.data(c, b.Bytes())
		}
	}
	watchers := 1 + rng.IntN(3)
	h.single = watchers == 1
	listeners := listenOn(t, 1)
	h.addr = listeners[0].Addr().String()
	h.server = serveConns(t, h.handler, aio.Server{
		Watchers: watchers,
		// Two connections that the server made to itself may each wait for the other to read.
		Grace: []time.Duration{-1, 200 * time.Millisecond}[rng.IntN(2)],
		Options: aio.Options{
			Driver:      driver,
			Allocator:   h.memory,
			QueueLimit:  []int{0, queue}[rng.IntN(2)],
			QueuePolicy: aio.QueuePolicy(rng.IntN(2)),
			BufferSize:  []int{0, 700, 4096}[rng.IntN(3)],
		},
	}, listeners...)
	return h
}

// lenient reports whether a faithful connection may end before its end.
func (h *connHistory) lenient() bool { return h.hard || h.ending.Load() }

// enter checks that callbacks of one connection come one at a time, and none after Closed.
func (h *connHistory) enter(c *aio.Conn[passage], what string) (leave func()) {
	if !c.State.inside.CompareAndSwap(false, true) {
		h.t.Errorf("%v: %s is called within another callback", h.driver, what)
	}
	if c.State.over {
		h.t.Errorf("%v: %s is called after Closed", h.driver, what)
	}
	return func() { c.State.inside.Store(false) }
}

func (h *connHistory) open(c *aio.Conn[passage]) error {
	defer h.enter(c, "Open")()
	c.State.seed = uint64(h.opened.Add(1))
	c.State.rng = rand.New(rand.NewPCG(c.State.seed, 1))
	return nil
}

func (h *connHistory) end(c *aio.Conn[passage], reason error) {
	defer h.enter(c, "Closed")()
	c.State.over = true
	h.closed.Add(1)
	h.live.Delete(c)
	_, _ = c.RemoteAddr(), c.LocalAddr()
	switch {
	case reason == nil:
		h.t.Errorf("%v: Closed is called without a reason", h.driver)
	case c.State.kind == faithful && !h.hard && !errors.Is(reason, net.ErrClosed) && !errors.Is(reason, aio.ErrWatcherClosed):
		h.t.Errorf("%v: a faithful connection is closed with %v", h.driver, reason)
	}
}

func (h *connHistory) ended(c *aio.Conn[passage]) error {
	defer h.enter(c, "Ended")()
	s := &c.State
	if s.kind != faithful && s.rng.IntN(2) == 0 {
		return errOfTheProgram
	}
	if s.ended = true; !s.pausing {
		return c.Close()
	}
	return nil
}

func (h *connHistory) data(c *aio.Conn[passage], p []byte) error {
	defer h.enter(c, "Data")()
	s := &c.State
	if s.kind == 0 {
		if s.kind = p[0]; s.kind != faithful {
			h.live.Store(c, true)
		}
	}
	if len(p) == 0 {
		h.t.Errorf("%v: Data without a byte", h.driver)
	}
	if s.kind != faithful {
		return h.trouble(c, p)
	}
	return h.echo(c, p)
}

// echo writes p in one of the ways that there are, perhaps after a pause.
func (h *connHistory) echo(c *aio.Conn[passage], p []byte) (err error) {
	s := &c.State
	switch way := s.rng.IntN(7); {
	case s.pausing:
		s.waiting = append(s.waiting, p...) // Data may be called once more
	case way == 0:
		s.waiting = append(s.waiting, p...)
		s.pausing = true
		c.Pause()
		go c.Do(func() { h.goOn(c) })
	case way == 1:
		cut := s.rng.IntN(len(p))
		_, err = c.Write(p[:cut])
		if err == nil {
			_, err = c.Write(p[cut:])
		}
	case way == 2:
		err = c.WriteBuf(bufOf(h.memory, p))
	case way == 3:
		spread := h.handler.WriteMany([]*aio.Conn[passage]{c}, bufOf(h.memory, p), aio.SlowQueue)
		if spread.Written+spread.Queued != 1 && !h.lenient() {
			h.t.Errorf("%v: WriteMany to one connection: %+v", h.driver, spread)
		}
	case way == 4:
		err = c.WriteMemory(memoryOf(h.memory, p, s.rng.IntN(len(p)+1), s.rng.IntN(len(p)+1)))
	default:
		_, err = c.Write(p)
	}
	return err
}

// goOn ends a pause.
func (h *connHistory) goOn(c *aio.Conn[passage]) {
	s := &c.State
	if s.over {
		return
	}
	s.pausing = false
	if _, err := c.Write(s.waiting); err != nil && !h.lenient() {
		h.t.Errorf("%v: writing after a pause: %v", h.driver, err)
	}
	s.waiting = nil
	if s.ended {
		c.Close()
		return
	}
	c.Resume()
}

// trouble does something that a program may do at any time.
func (h *connHistory) trouble(c *aio.Conn[passage], p []byte) error {
	s := &c.State
	switch s.rng.IntN(16) {
	case 0:
		return errOfTheProgram
	case 1:
		return io.EOF
	case 2:
		c.Close()
		c.Write(p)
		c.Close()
	case 3:
		c.Write(p)
		return c.CloseWrite()
	case 4:
		c.CloseWrite()
		_, err := c.Write(p)
		return err
	case 5:
		c.Pause()
	case 6:
		c.Pause()
		c.Resume()
		c.Write(p)
		c.Pause()
		go c.Do(c.Resume)
	case 7:
		c.Write(make([]byte, 3<<20))
	case 8:
		h.live.Range(func(other, _ any) bool { // of any watcher
			h.handler.WriteMany([]*aio.Conn[passage]{c, other.(*aio.Conn[passage]), c}, bufOf(h.memory, p), aio.SlowPolicy(s.rng.IntN(3)))
			return false
		})
	case 9:
		go func() {
			c.Write([]byte("from elsewhere"))
			c.Queued()
			c.Close()
		}()
	case 10:
		c.SetIdleTimeout(time.Duration(s.rng.IntN(2000)) * time.Microsecond)
		c.Write(p)
	case 11:
		h.ask(c)
	case 12:
		h.pace(c)
		c.Write(make([]byte, 1<<20))
	case 13:
		return h.attach(c)
	default:
		c.Write(p)
	}
	return nil
}

// ask asks for all that a connection can say.
func (h *connHistory) ask(c *aio.Conn[passage]) {
	if state, ok := c.ConnectionState(); ok != (h.handler.TLS != nil && !c.State.attached) || ok && !state.HandshakeComplete {
		h.t.Errorf("%v: TLS is %v, the handshake over: %v", h.driver, ok, state.HandshakeComplete)
	}
	raw, err := c.SyscallConn()
	if err == nil {
		err = raw.Control(func(uintptr) {})
	}
	if err != nil && !errors.Is(err, net.ErrClosed) {
		h.t.Errorf("%v: the descriptor: %v", h.driver, err)
	}
}

// pace makes c depend on another connection, which may be gone before it.
func (h *connHistory) pace(c *aio.Conn[passage]) {
	if !h.single {
		return
	}
	h.live.Range(func(other, _ any) bool {
		c.PaceBy(other.(*aio.Conn[passage]))
		return other == c
	})
}

// attach has c's watcher serve the near side of a connection to this server itself.
func (h *connHistory) attach(c *aio.Conn[passage]) error {
	if c.State.attached { // or there would be ever more
		return nil
	}
	conn, err := net.DialTimeout("tcp", h.addr, atMost)
	if err != nil {
		return err
	}
	seed := uint64(h.opened.Add(1))
	other := c.Attach(conn, passage{kind: wild, attached: true, seed: seed, rng: rand.New(rand.NewPCG(seed, 1))})
	other.Write([]byte{wild})
	c.PaceBy(other)
	return nil
}

// bufOf is a Buf with the bytes of p, to be transferred.
func bufOf(a *mem.Allocator, p []byte) mem.Buf {
	b := a.Get(len(p))
	copy(b.Bytes(), p)
	return b //sluice:moved
}

// memoryOf is a Memory with the bytes of p in three parts, cut at a and b, to be transferred.
func memoryOf(memory *mem.Allocator, p []byte, a, b int) *mem.Memory {
	m := new(mem.Memory)
	a, b = min(a, b), max(a, b)
	for _, part := range [][]byte{p[:a], p[a:b], p[b:]} {
		m.Append(bufOf(memory, part))
	}
	return m
}

// client is one connection from its beginning to its end.
func (h *connHistory) client(rng *rand.Rand) {
	raw, err := net.DialTimeout("tcp", h.server.addr, atMost)
	if err != nil {
		if !h.lenient() {
			h.t.Errorf("%v: dialling: %v", h.driver, err)
		}
		return
	}
	defer raw.Close()
	raw.SetDeadline(time.Now().Add(atMost))
	tcp := raw.(*net.TCPConn)
	reset := func() {
		tcp.SetLinger(0)
		tcp.Close()
	}
	if rng.IntN(8) == 0 { // it does not come to anything
		raw.Write(make([]byte, rng.IntN(600)))
		if rng.IntN(2) == 0 {
			reset()
		}
		return
	}
	conn := raw
	if h.server.tls != nil {
		secure := tls.Client(raw, h.server.tls)
		if rng.IntN(10) == 0 { // in the midst of its handshake, or not
			time.AfterFunc(time.Duration(rng.IntN(2000))*time.Microsecond, reset)
			secure.Handshake()
			return
		}
		if err := secure.Handshake(); err != nil {
			if !h.lenient() {
				h.t.Errorf("%v: a handshake: %v", h.driver, err)
			}
			return
		}
		conn = secure
	}
	if rng.IntN(2) == 0 {
		h.keepFaith(conn, rng)
		return
	}
	conn.Write([]byte{wild})
	raw.SetReadDeadline(time.Now().Add(50 * time.Millisecond)) // perhaps nothing comes
	for range rng.IntN(6) {
		if _, err := conn.Write(make([]byte, 1+rng.IntN(9000))); err != nil {
			return
		}
		if rng.IntN(3) == 0 {
			io.ReadFull(conn, make([]byte, 1+rng.IntN(100)))
		}
	}
	switch rng.IntN(4) {
	case 0:
		reset()
	case 1:
		conn.(interface{ CloseWrite() error }).CloseWrite()
		io.Copy(io.Discard, conn)
	case 2:
		conn.Close()
	}
}

// keepFaith sends and compares what comes back, which is everything unless the server
// is ending or all is short.
func (h *connHistory) keepFaith(conn net.Conn, rng *rand.Rand) {
	sent := make([]byte, 1+rng.IntN([]int{1, 1, 100, 200_000}[rng.IntN(4)]))
	for i := range sent {
		sent[i] = byte(rng.Uint32())
	}
	sent[0] = faithful
	wrote := make(chan error, 1)
	pieces := rand.New(rand.NewPCG(rng.Uint64(), 0))
	go func() {
		for rest := sent; len(rest) > 0; {
			n, err := conn.Write(rest[:min(len(rest), 1+pieces.IntN(40_000))])
			if err != nil {
				wrote <- err
				return
			}
			rest = rest[n:]
		}
		wrote <- conn.(interface{ CloseWrite() error }).CloseWrite()
	}()
	got, err := io.ReadAll(conn)
	lenient := h.lenient()
	if string(got) != string(sent[:min(len(got), len(sent))]) || !lenient && len(got) != len(sent) {
		h.t.Errorf("%v: %d bytes came back of %d", h.driver, len(got), len(sent))
	}
	if err != nil && !lenient {
		h.t.Errorf("%v: the end of an echo: %v", h.driver, err)
	}
	if err := <-wrote; err != nil && !lenient {
		h.t.Errorf("%v: writing: %v", h.driver, err)
	}
}

// Connections come and go in every way, with callbacks that do anything; sometimes the
// server ends in the midst of it, or its memory and its patience are short. Each that was opened is closed once, and nothing is left.
func TestRandomHistoriesOfConnections(t *testing.T) {
	seed := sluicetest.Seed(t)
	eachKind(t, func(t *testing.T, config *tls.Config, o aio.Options) {
		for round := range uint64(3) {
			h := newConnHistory(t, o.Driver, config, seed+round, round == 2)
			each := weigh(40)
			if config != nil {
				each /= 2
			}
			var clients sync.WaitGroup
			var done atomic.Int64
			const together = 16
			for i := range uint64(together) {
				clients.Go(func() {
					rng := rand.New(rand.NewPCG(seed+round, 100+i))
					for range each {
						h.client(rng)
						done.Add(1)
					}
				})
			}
			if round%2 == 1 {
				yieldUntil(t, "half of the clients", func() bool { return int(done.Load()) > together*each/2 })
			} else {
				clients.Wait()
			}
			h.ending.Store(true)
			h.server.end()
			clients.Wait()
			if h.opened.Load() != h.closed.Load() || h.opened.Load() == 0 && !h.hard {
				t.Errorf("%d connections were opened and %d closed", h.opened.Load(), h.closed.Load())
			}
			t.Logf("%d connections, %d handshakes refused", h.opened.Load(), h.refused.Load())
		}
	})
}
