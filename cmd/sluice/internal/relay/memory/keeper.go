package memory

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// goLimit is the runtime's own limit, GOMEMLIMIT, or 0: above it, the collector would run all
// the time.
func goLimit() int64 {
	if n := debug.SetMemoryLimit(-1); n < math.MaxInt64/2 {
		return n
	}
	return 0
}

// Limit returns how many bytes a server takes for a setting, where there are so many for the
// process; 0 is unknown, or not set. A part is left for what is not counted: the garbage, the
// stacks, the program.
func Limit(set, machine int64) int64 {
	switch {
	case machine == 0:
		return set
	case set == 0:
		return machine / 2
	}
	return min(set, machine/4*3)
}

// RingShare is the part of the memory limit that rings may use, PacketShare what those
// of packets may use beside them, SegmentShare what segments of HLS may, UnfinishedShare what
// frames of at most so many bytes may of which publishers have sent a part.
func RingShare(most int64) int64    { return most * 6 / 10 }
func PacketShare(most int64) int64  { return most * 15 / 100 }
func SegmentShare(most int64) int64 { return most / 10 }
func UnfinishedShare(most int64, frame int) int64 {
	if most == 0 {
		return 0
	}
	return max(most/4, 2*int64(frame))
}

// Options configure a Keeper. All fields but Machine and Group are required.
type Options struct {
	Most    int64 // bytes
	Machine int64 // what the process can have, in bytes; 0 is unknown
	Group   Group // where the kernel ends the process; the zero value is nowhere
	Alloc   *mem.Allocator
	Hubs    []*live.Hub
	Writer  *live.Writer
	// Unread is how many bytes peers have sent and the server has not read; it may be 0 when
	// these are fewer than least.
	Unread func(least int64) int64
	// Relieve ends what holds memory for peers that take nothing. It is called again and again
	// while there is little left.
	Relieve func(now time.Time)
	// Shed ends sessions, of publishers if it is the streams that take too much, and returns how many.
	Shed   func(streams bool) (viewers, publishers int)
	Logger *slog.Logger
}

// A Keeper keeps a server within its memory limit.
type Keeper struct {
	options  Options
	full     atomic.Bool // no room for publishers
	crowded  atomic.Bool // for the heap's sake, no room for viewers either
	pressure pressure
	young    young
	spare    spare
	trimmed  time.Time // when rings were
	asked    time.Time // when unread was taken
	unread   int64
	used     int64        // at the latest step, without unread
	total    atomic.Int64 // with it
}

// New returns a keeper, which does nothing until Run.
func New(o Options) *Keeper {
	return &Keeper{options: o, pressure: pressure{group: o.Group, own: mapped}}
}

const (
	every = 500 * time.Millisecond
	// shedEvery is the time between looks whether sessions have to be ended: what a crowd takes
	// meanwhile is less than what is left then.
	shedEvery = 100 * time.Millisecond
	// trimEvery is the time between looks at all rings while less than half of the memory is
	// in use. Streams with new frames need none, and 1,000 of them take 2 ms.
	trimEvery = 2 * time.Second
	// unreadEvery is the time between looks at receive queues: each takes a system
	// call for each connection, 0.5 us, unless the kernel has little for all of them.
	unreadEvery = 2 * time.Second
	// leastUnread is the part of the limit from which on what is unread counts.
	leastUnread = 64
	// perUnread is what the kernel uses for an unread byte, at most: it stores
	// segments in larger blocks (tcp_adv_win_scale, tcp(7)).
	perUnread = 2
)

// Run enforces the limit until ctx is done.
func (k *Keeper) Run(ctx context.Context) {
	if limit := k.options.collectorLimit(); limit > 0 && goLimit() == 0 {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
		k.pressure.most = limit
	}
	k.young.begin(k.options.rings())
	tick, shed := time.NewTicker(every), time.NewTicker(shedEvery)
	defer tick.Stop()
	defer shed.Stop()
	for {
		select {
		case <-shed.C:
			k.shed()
		case now := <-tick.C:
			k.step(now)
		case <-ctx.Done():
			return
		}
	}
}

// Used returns how many bytes there are of what max-memory bounds, as of the latest look, a moment ago.
func (k *Keeper) Used() int64 { return k.total.Load() }

// Admit returns an error that matches session.ErrFull when there is no room for another
// publisher.
func (k *Keeper) Admit() error {
	if err := k.RoomToWatch(); err != nil {
		return err
	}
	if !k.full.Load() && k.total.Load()+k.young.reserved(k.options.rings()) <= k.options.Most*9/10 {
		return nil
	}
	return fmt.Errorf("%w: max-memory is %d bytes", session.ErrFull, k.options.Most)
}

func (k *Keeper) step(now time.Time) {
	o := &k.options
	if k.used > o.Most/2 || now.Sub(k.trimmed) >= trimEvery {
		k.trimmed = now
		for _, h := range o.Hubs {
			h.Trim()
		}
	}
	if now.Sub(k.asked) >= unreadEvery {
		k.asked, k.unread = now, o.Unread(o.Most/leastUnread/perUnread)*perUnread
	}
	counted := o.Alloc.Stats()
	// Counted memory that is checked out, and what the kernel holds for viewers.
	used := counted.OutBytes + o.Writer.Queued()
	k.used = used
	excess := k.pressure.excess()
	if used > o.Most*9/10 {
		// Rings are limited to their part, so viewers hold the excess.
		excess = max(excess, used-o.Most*8/10)
	}
	if excess > 0 {
		if freed := o.Writer.Evict(excess); freed > 0 {
			o.Logger.Warn("memory is short: the slowest viewers are closed", "used", used, "limit", o.Most, "freed", freed)
		}
	}
	// Receive queues are not the viewers' fault, but there is no room either.
	used += k.unread
	k.total.Store(used)
	k.young.note(o.rings())
	idle, live := k.spare.heap()
	if k.judge(used, live); k.crowded.Load() {
		o.Relieve(now)
	}
	if k.spare.due(now, idle+counted.IdleBytes, used, live) {
		o.Alloc.Trim()
		debug.FreeOSMemory()
		k.spare.returned(now, scattered())
	}
}

// judge decides for whom there is room, when counted memory and what the kernel has are so many
// bytes, and the collector's heap is.
func (k *Keeper) judge(used, heap int64) {
	o := &k.options
	full := func(was bool, n, most int64) bool {
		return n > most*9/10 || was && n > most*8/10
	}
	if now := full(k.full.Load(), used, o.Most); now != k.full.Swap(now) {
		if now {
			o.Logger.Warn("memory is short: no new publishers", "used", used, "limit", o.Most)
		} else {
			o.Logger.Info("there is memory for publishers again", "used", used, "limit", o.Most)
		}
	}
	// Sessions take memory that is not counted.
	limit := o.collectorLimit()
	if now := k.Tight() || limit > 0 && full(k.crowded.Load(), heap, limit); now != k.crowded.Swap(now) {
		if now {
			o.Logger.Warn("memory is short: no new sessions", "heap", heap, "limit", limit, "group", k.pressure.used.Load(), "grouplimit", o.Group.Limit)
		} else {
			o.Logger.Info("there is memory for sessions again", "heap", heap, "limit", limit)
		}
	}
}

// rings is how many rings the hubs have.
func (o *Options) rings() (n int) {
	for _, h := range o.Hubs {
		n += h.Rings()
	}
	return n
}

// collectorLimit is the runtime's soft limit for the process, in bytes, unless GOMEMLIMIT sets one:
// half of what is not counted is left for the program and for what the kernel has; 0 is none.
func (o *Options) collectorLimit() int64 {
	if o.Machine == 0 {
		return 0
	}
	return o.Most + (o.Machine-o.Most)/2
}
