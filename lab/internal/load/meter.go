package load

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/lab/internal/proc"
)

// A meter reads what the generator and the target use: before there are
// connections, when the measuring begins and when it ends.
type meter struct {
	s                 *session
	idle, idleTarget  int64 // resident bytes before there are connections
	from, to          reading
	warmCalls         *uint64 // system calls of the target during the warm-up
	stopped, finished chan struct{}
}

// A reading is of both processes; what could not be read is missing.
type reading struct {
	own, target       proc.Reading
	hasOwn, hasTarget bool
	mem, targetMem    proc.Mem
	hasMem            bool // of the target
}

func newMeter(s *session) *meter {
	m := &meter{s: s, stopped: make(chan struct{}), finished: make(chan struct{})}
	if r, err := proc.Read(0); err == nil {
		m.idle = r.To(r).Resident
	}
	if s.plan.PID > 0 {
		if r, err := proc.Read(s.plan.PID); err == nil {
			m.idleTarget = r.To(r).Resident
		}
	}
	return m
}

// run reads at both ends of the time measured, or when it is stopped.
func (m *meter) run(ctx context.Context) {
	defer close(m.finished)
	// Counting slows the target down, so that it ends before the time measured.
	var count *proc.SyscallCount
	if m.s.plan.PID > 0 && m.s.start >= int64(leastWarmup) {
		count, _ = proc.CountSyscalls(m.s.plan.PID)
	}
	began := m.until(m.s.start)
	if count != nil {
		n := count.Stop()
		m.warmCalls = &n
	}
	if !began {
		return
	}
	m.from = m.read(ctx)
	m.until(m.s.end)
	m.to = m.read(ctx)
}

// leastWarmup is the shortest warm-up that system calls are counted in.
const leastWarmup = 200 * time.Millisecond

// until waits for a time of the session; it returns false when the meter is
// stopped before.
func (m *meter) until(at int64) bool {
	timer := time.NewTimer(time.Duration(at - m.s.now()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-m.stopped:
		return false
	}
}

func (m *meter) read(ctx context.Context) (r reading) {
	var err error
	r.own, err = proc.Read(0)
	r.hasOwn = err == nil
	r.mem = proc.OwnMem()
	if pid := m.s.plan.PID; pid > 0 {
		r.target, err = proc.Read(pid)
		r.hasTarget = err == nil
	}
	if url := m.s.plan.Pprof; url != "" {
		r.targetMem, err = proc.MemStats(ctx, url)
		r.hasMem = err == nil
	}
	return r
}

// stop ends the meter and returns what was used for so many requests, warm of which
// came before those that were measured; calls are the generator's own.
func (m *meter) stop(warm, requests, calls uint64) (generator Use, target *Use) {
	close(m.stopped)
	<-m.finished
	ops, conns := float64(max(1, requests)), float64(m.s.plan.Conns)
	if m.from.hasOwn && m.to.hasOwn {
		generator.Spent = m.from.own.To(m.to.own)
		generator.CPUPerOp = float64(generator.CPU) / ops
		generator.resident(m.idle, conns)
	}
	generator.memory(m.from.mem.To(m.to.mem), ops)
	if calls > 0 {
		n := float64(calls) / ops
		generator.SyscallsPerOp = &n
	} else {
		generator.counted(ops)
	}
	if m.s.plan.PID == 0 && m.s.plan.Pprof == "" {
		return generator, nil
	}
	target = &Use{}
	if m.from.hasTarget && m.to.hasTarget {
		target.Spent = m.from.target.To(m.to.target)
		target.CPUPerOp = float64(target.CPU) / ops
		target.counted(ops)
		if m.warmCalls != nil && warm > 0 {
			n := float64(*m.warmCalls) / float64(warm)
			target.SyscallsPerOp, target.SyscallsAtLeast = &n, false
			target.SyscallsNote = "all, counted by the kernel during the warm-up"
		}
		target.resident(m.idleTarget, conns)
	}
	if m.from.hasMem && m.to.hasMem {
		target.memory(m.from.targetMem.To(m.to.targetMem), ops)
	}
	return generator, target
}

func (u *Use) resident(idle int64, conns float64) {
	if u.Resident > 0 && idle > 0 {
		n := max(0, float64(u.Resident-idle)) / conns
		u.ResidentPerConn = &n
	}
}

func (u *Use) memory(m proc.MemSpent, ops float64) {
	n := float64(m.Mallocs) / ops
	u.AllocsPerOp, u.GCs, u.GCPause = &n, &m.GCs, m.Pause
}

// counted takes system calls from what /proc counts.
func (u *Use) counted(ops float64) {
	if u.ReadCalls == nil || u.WriteCalls == nil {
		return
	}
	n := float64(*u.ReadCalls+*u.WriteCalls) / ops
	u.SyscallsPerOp, u.SyscallsAtLeast = &n, true
	u.SyscallsNote = "read(2), write(2) and their like; recv, send and epoll_wait are not counted by /proc/PID/io"
}
