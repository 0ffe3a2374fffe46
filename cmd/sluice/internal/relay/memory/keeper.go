package memory

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// RingShare is the part of the memory limit that rings may use, PacketShare what those
// of packets may use beside them, SegmentShare what segments of HLS may.
func RingShare(most int64) int64    { return most * 6 / 10 }
func PacketShare(most int64) int64  { return most * 15 / 100 }
func SegmentShare(most int64) int64 { return most / 10 }

// Options configure a Keeper. All fields are required.
type Options struct {
	Most   int64 // bytes
	Alloc  *mem.Allocator
	Hubs   []*live.Hub
	Writer *live.Writer
	Unread func() int64 // bytes that peers have sent and the server has not read
	Logger *slog.Logger
}

// A Keeper keeps a server within its memory limit.
type Keeper struct {
	options Options
	full    atomic.Bool
	spare   spare
	asked   time.Time // when unread was taken
	unread  int64
}

// New returns a keeper, which does nothing until Run.
func New(o Options) *Keeper { return &Keeper{options: o} }

const (
	every = 500 * time.Millisecond
	// unreadEvery is the time between looks at receive queues: each takes a system
	// call for each connection, 0.5 us.
	unreadEvery = 2 * time.Second
	// perUnread is what the kernel uses for an unread byte, at most: it stores
	// segments in larger blocks (tcp_adv_win_scale, tcp(7)).
	perUnread = 2
)

// Run enforces the limit until ctx is done.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			k.step(now)
		case <-ctx.Done():
			return
		}
	}
}

// Used returns how many bytes are in use: counted memory that is checked out,
// and what the kernel holds for viewers.
func (k *Keeper) Used() int64 {
	return k.options.Alloc.Stats().OutBytes + k.options.Writer.Queued()
}

// Admit returns an error that matches session.ErrFull when there is no room for another
// publisher.
func (k *Keeper) Admit() error {
	if !k.full.Load() {
		return nil
	}
	return fmt.Errorf("%w: max-memory is %d bytes", session.ErrFull, k.options.Most)
}

func (k *Keeper) step(now time.Time) {
	o := &k.options
	for _, h := range o.Hubs {
		h.Trim()
	}
	if now.Sub(k.asked) >= unreadEvery {
		k.asked, k.unread = now, o.Unread()*perUnread
	}
	used := k.Used()
	if used > o.Most*9/10 {
		// Rings are limited to their part, so viewers hold the excess.
		if freed := o.Writer.Evict(used - o.Most*8/10); freed > 0 {
			o.Logger.Warn("memory is short: the slowest viewers are closed", "used", used, "limit", o.Most, "freed", freed)
		}
	}
	// Receive queues are not the viewers' fault, but there is no room either.
	used += k.unread
	switch full := k.full.Load(); {
	case !full && used > o.Most*9/10:
		k.full.Store(true)
		o.Logger.Warn("memory is short: no new publishers", "used", used, "limit", o.Most)
	case full && used < o.Most*8/10:
		k.full.Store(false)
		o.Logger.Info("there is memory again", "used", used, "limit", o.Most)
	}
	if idle, live := k.idle(); k.spare.due(now, idle, used, live) {
		o.Alloc.Trim()
		debug.FreeOSMemory()
		idle, _ = k.idle()
		k.spare.returned(now, idle)
	}
}

// idle is how many bytes the process has but does not use, and how many are live in the
// collector's heap.
func (k *Keeper) idle() (idle, live int64) {
	idle, live = heap()
	return idle + k.options.Alloc.Stats().IdleBytes, live
}
