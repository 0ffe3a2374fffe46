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
	group         Group
	most          int64 // of the collector's limit; 0: it is not set here
	used, sockets atomic.Int64

	looking sync.Mutex // held by the one that looks
	looked  time.Time
	set     int64 // the collector's limit; 0: as it was
}

// The parts of a group's memory, in sixteenths, up to which the collector's memory and the
// kernel's may grow together before garbage is collected more often; and from which on no
// session begins.
const collectFrom, tightFrom = 12, 13

// tight reports whether no session may begin.
func (p *pressure) tight() bool {
	if p.group.Limit == 0 {
		return false
	}
	if p.looking.TryLock() {
		if time.Since(p.looked) >= lookEvery {
			p.look()
			p.looked = time.Now()
		}
		p.looking.Unlock()
	}
	return p.used.Load() > p.group.Limit/16*tightFrom
}

// look asks the kernel, and leaves the collector what it does not have for others: garbage must
// not take the place of sessions. looking is held.
func (p *pressure) look() {
	used, sockets := p.group.Used()
	p.used.Store(used)
	p.sockets.Store(sockets)
	if p.most == 0 {
		return
	}
	others := max(used-mapped(), 0)
	limit := max(min(p.most, p.group.Limit/16*collectFrom-others), p.most/2)
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
	return min(p.used.Load()-p.group.Limit/16*collectFrom, p.sockets.Load())
}

// mapped is how many bytes the runtime has from the system.
func mapped() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}

// Tight reports whether the control group is nearly full.
func (k *Keeper) Tight() bool { return k.pressure.tight() }

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
