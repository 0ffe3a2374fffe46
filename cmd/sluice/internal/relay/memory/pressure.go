package memory

import (
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// A Group is a control group, which the kernel ends when it has more than its limit. Its memory
// is all that the process has: sessions, stacks and garbage, and what the kernel has for sockets.
type Group struct {
	Limit int64 // bytes; 0: there is none
	// Used returns what counts against the limit, and how much of that sockets hold.
	Used func() (bytes, sockets int64)
}

// lookEvery is how often the group is looked at while sessions come, 40 us each time. A crowd
// takes less meanwhile than is left: 0.2 MB for each millisecond of it.
const lookEvery = 20 * time.Millisecond

// pressure watches how full a group is. Its methods may be called by any goroutine.
type pressure struct {
	group Group
	own   func() int64 // bytes that the runtime has
	most  int64        // of the collector's limit; 0: it is not set here

	used, sockets, has atomic.Int64 // at the latest look; has is what own returned

	looking sync.Mutex // held by the one that looks
	looked  time.Time
	set     int64 // the collector's limit; 0: as it was
}

const (
	// growth is the part of its own memory by which a process may still grow for sessions that
	// have begun: their buffers and stacks fill when the processors are busy.
	growth = 4
	// reserve is the least part of the group that is left free.
	reserve = 16
)

// left returns how many bytes the group may still have, and the process has.
func (p *pressure) left() (left, own int64) {
	if p.looking.TryLock() {
		if time.Since(p.looked) >= lookEvery {
			p.look()
		}
		p.looking.Unlock()
	}
	return p.group.Limit - p.used.Load(), p.has.Load()
}

// tight reports whether no session may begin.
func (p *pressure) tight() bool {
	if p.group.Limit == 0 {
		return false
	}
	left, own := p.left()
	return left < max(own/growth, p.group.Limit/reserve)
}

// critical reports whether the kernel is about to end the process, and that has most of the
// memory: in the place of other processes it gives up nothing.
func (p *pressure) critical() bool {
	if p.group.Limit == 0 {
		return false
	}
	left, own := p.left()
	return left < p.group.Limit/reserve && own > p.group.Limit/2
}

// look asks the kernel, and leaves the collector what it does not have for others: garbage must
// not take the place of sessions. looking is held.
func (p *pressure) look() {
	used, sockets := p.group.Used()
	own := p.own()
	p.used.Store(used)
	p.sockets.Store(sockets)
	p.has.Store(own)
	p.looked = time.Now()
	if p.most == 0 {
		return
	}
	others := max(used-own, 0)
	limit := max(min(p.most, p.group.Limit/4*3-others), p.most/2)
	if d := limit - p.set; d > 1<<20 || d < -(1<<20) || limit == p.most && d != 0 {
		p.set = limit
		debug.SetMemoryLimit(limit)
	}
}

// excess is how many bytes the group has too many when it is tight, of those that sockets hold.
func (p *pressure) excess() int64 {
	if !p.tight() {
		return 0
	}
	return min(p.used.Load()-p.group.Limit/4*3, p.sockets.Load())
}

// mapped is how many bytes the runtime has from the system.
func mapped() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}

// Tight reports whether the control group is nearly full.
func (k *Keeper) Tight() bool { return k.pressure.tight() }

// shed ends sessions when the group is as good as full although garbage has been collected.
func (k *Keeper) shed() {
	if !k.pressure.critical() {
		return
	}
	if k.collect(); k.pressure.critical() {
		o := &k.options
		viewers, publishers := o.Shed(o.Alloc.Stats().OutBytes > o.Most*9/10)
		o.Logger.Warn("memory is short: sessions are ended", "viewers", viewers, "publishers", publishers, "group", k.pressure.used.Load(), "grouplimit", o.Group.Limit)
	}
}

// RoomForSuccessor returns an error when the group has no room for another process that takes
// over all sessions: for a while both have what is known of them.
func (k *Keeper) RoomForSuccessor() error {
	p := &k.pressure
	if p.group.Limit == 0 {
		return nil
	}
	need := func() (left, need int64) {
		left, own := p.left()
		return left, own + own/8
	}
	left, most := need()
	if left < most {
		k.collect()
		left, most = need()
	}
	if left < most {
		return fmt.Errorf("there is no memory for two processes: the control group has %d bytes left, and %d are needed", left, most)
	}
	return nil
}

// collect collects garbage, and returns what is free to the system.
func (k *Keeper) collect() {
	k.options.Alloc.Trim()
	debug.FreeOSMemory()
	k.pressure.looking.Lock()
	defer k.pressure.looking.Unlock()
	k.pressure.look()
}

// RoomToWatch returns an error that matches session.ErrFull when there is no memory for another
// session, however little it takes.
func (k *Keeper) RoomToWatch() error {
	if k.Tight() {
		return fmt.Errorf("%w: most of the %d bytes of memory that it can have are in use", session.ErrFull, k.options.Group.Limit)
	}
	if k.crowded.Load() {
		return fmt.Errorf("%w: its sessions take nine tenths of the memory that they can have", session.ErrFull)
	}
	return nil
}
