package load

import (
	"context"

	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// epoll is the engine for Linux: Plan.Threads threads, each with its share of the
// connections in one epoll loop. One recv or send carries as many messages as are ready, and
// connections have no goroutines.
type epoll struct{ threads int }

// raw is the engine for targets of raw bytes.
func raw(p *Plan) (engine, error) { return epoll{max(1, p.Threads)}, nil }

func (e epoll) run(outer context.Context, s *session, pipelines []*pipeline) (tally, error) {
	ctx, stop := context.WithCancelCause(outer)
	defer stop(nil)
	threads := min(e.threads, len(pipelines))
	pollers := make([]*poller, threads)
	defer func() {
		stop(nil) // wait for dials under way
		for _, p := range pollers {
			if p != nil {
				p.close()
			}
		}
	}()
	for i := range pollers {
		p, err := newPoller(s)
		if err != nil {
			return tally{}, err
		}
		pollers[i] = p
	}
	for i, l := range pipelines {
		fd, err := s.connectRaw(ctx, i)
		if err == nil {
			err = pollers[i%threads].add(l, fd)
		}
		if err != nil {
			return tally{}, fmt.Errorf("load: connection %d of %d: %w", i+1, len(pipelines), err)
		}
	}
	if err := s.begin(); err != nil {
		return tally{}, err
	}
	var polling sync.WaitGroup
	for _, p := range pollers {
		polling.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			// Waits end on time, not up to 50 µs later: PR_SET_TIMERSLACK in prctl(2).
			unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
			defer unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0)
			if err := p.loop(ctx); err != nil {
				stop(err)
			}
		})
	}
	polling.Wait()
	var sum tally
	for _, p := range pollers {
		sum.add(p.tally)
	}
	var err error
	if outer.Err() == nil {
		err = context.Cause(ctx)
	}
	return sum, err
}

// connectRaw makes a connection and returns a duplicate of its descriptor, outside the
// runtime's poller, which would otherwise be notified of every event on it.
func (s *session) connectRaw(ctx context.Context, target int) (int, error) {
	conn, err := s.connect(ctx, target)
	if err != nil {
		return -1, err
	}
	defer conn.Close()
	return duplicate(conn)
}

func duplicate(conn net.Conn) (fd int, err error) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return -1, fmt.Errorf("load: a %T has no descriptor", conn)
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	if outer := raw.Control(func(own uintptr) {
		fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0)
		err = os.NewSyscallError("fcntl", err)
	}); outer != nil {
		return -1, outer
	}
	return fd, err
}

// reset closes a connection with a reset.
func reset(fd int) {
	unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	unix.Close(fd)
}

// redial makes a connection for a peer after a delay, without blocking its thread.
func (p *poller) redial(ctx context.Context, number int, after time.Duration) {
	peer := &p.peers[number]
	peer.target++
	target := peer.target
	p.dialing.Go(func() {
		timer := time.NewTimer(after)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		fd, err := p.connectRaw(ctx, target)
		p.mu.Lock()
		p.dialed = append(p.dialed, dialed{number, fd, err})
		p.mu.Unlock()
		p.wake()
	})
}

// A dialed is the result of a redial: a connection for a peer, or none.
type dialed struct {
	peer int
	fd   int
	err  error
}

// wake ends the wait of the thread.
func (p *poller) wake() {
	unix.Write(p.bell, []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

// woken takes the results of redials.
func (p *poller) woken(ctx context.Context) error {
	var count [8]byte
	unix.Read(p.bell, count[:])
	p.mu.Lock()
	list := p.dialed
	p.dialed = nil
	p.mu.Unlock()
	for _, d := range list {
		if err := p.reconnected(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

func (p *poller) reconnected(ctx context.Context, d dialed) error {
	peer, now := &p.peers[d.peer], p.now()
	if d.err != nil {
		if ctx.Err() != nil || now >= p.end {
			p.abandon(peer.pipeline, p.recorder)
			p.finish(peer)
			return nil
		}
		p.fault(d.err, 1)
		if !p.plan.Redial {
			return d.err
		}
		peer.tries++
		p.redial(ctx, d.peer, backoff(peer.tries))
		return nil
	}
	if err := p.watch(d.peer, d.fd); err != nil {
		unix.Close(d.fd)
		return err
	}
	peer.pipeline.ready = now
	return p.serve(ctx, d.peer, 0)
}
