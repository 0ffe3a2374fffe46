package diagnose

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
)

// A queue is goroutines that wait for a lock in one function, whatever the
// line.
type queue struct {
	place   evidence.Frame // where most of the time passes
	longest time.Duration  // there
	time    time.Duration
	whileIO time.Duration
	channel bool // the lock is a channel
	plain   bool // it stands in for a profile of blocking, which does not name the holder
	callers map[string]bool
	below   float64 // of ioBelow
}

// queues are the locks that goroutines wait for, the longest first, and the
// time over which that was looked at.
func (s *sight) queues() ([]*queue, time.Duration) {
	byFunc := map[string]*queue{}
	add := func(frames []evidence.Frame, took, whileIO time.Duration, channel bool) *queue {
		f, ok := own(frames)
		if !ok && len(frames) == 0 {
			return nil
		}
		q := byFunc[f.Func]
		if q == nil {
			q = &queue{channel: channel, callers: map[string]bool{}}
			byFunc[f.Func] = q
		}
		if took > q.longest {
			q.place, q.longest = f, took
		}
		q.time += took
		q.whileIO += whileIO
		for _, fn := range ownFuncs(frames) {
			q.callers[fn] = true
		}
		return q
	}
	took := s.Took
	switch {
	case s.Trace != nil && s.Trace.Took > 0:
		took = s.Trace.Took
		for _, b := range s.Trace.Blocked {
			switch {
			case through(b.Frames, isLocking):
				add(b.Frames, b.Time, min(b.WhileIO, b.Time), false)
			case isChannelLock(&b):
				add(b.Frames, b.Time, 0, true)
			}
		}
	case !empty(s.Block) && took > 0:
		for _, st := range s.Block.Stacks {
			if through(st.Frames, isLocking) {
				if q := add(st.Frames, time.Duration(st.Value), 0, false); q != nil {
					q.plain = true
				}
			}
		}
	default:
		return nil, 0
	}
	list := make([]*queue, 0, len(byFunc))
	for _, q := range byFunc {
		q.below = s.ioBelow(q.callers)
		list = append(list, q)
	}
	slices.SortFunc(list, func(a, b *queue) int {
		return cmp.Or(cmp.Compare(b.time, a.time), cmp.Compare(a.place.Func, b.place.Func))
	})
	return list, took
}

// blocked is the part of their time that the goroutines which take this lock
// wait for it: with n of them waiting on average, one works and n wait.
func (q *queue) blocked(took time.Duration) float64 {
	n := q.time.Seconds() / took.Seconds()
	return n / (1 + n)
}

// wakes bounds how much longer a lock is held for I/O than the I/O takes: the
// call, the wake-up and the wait for a processor do not count as time in I/O.
const wakes = 3

// inIO is the part of the waiting in which the holder did I/O or slept.
func (q *queue) inIO() float64 {
	switch {
	case q.time <= 0:
		return 0
	case q.channel || q.plain:
		return q.below // the holder is not known
	}
	seen := min(1, q.whileIO.Seconds()/q.time.Seconds())
	return max(seen, min(1, wakes*seen)*q.below)
}

// isChannelLock reports whether a channel serves as a lock rather than to pass
// work: the code that releases it is the code that waits for it.
func isChannelLock(b *evidence.Blocking) bool {
	if b.Reason != "chan send" && b.Reason != "chan receive" && b.Reason != "select" {
		return false
	}
	waits, ends := ownFuncs(b.Frames), ownFuncs(b.Holder)
	if len(waits) == 0 || len(ends) == 0 {
		return false
	}
	// Either the same function does both, or a pair of them below the same caller.
	if waits[0] == ends[0] {
		return true
	}
	return len(waits) > 1 && len(ends) > 1 && waits[1] == ends[1] || len(ends) > 1 && waits[0] == ends[1] || len(waits) > 1 && waits[1] == ends[0]
}

var closure = regexp.MustCompile(`(\.func\d+|\.deferwrap\d+|\.gowrap\d+|\.\d+|-range\d+)+$`)

// ownFuncs are the user's own functions of a stack, innermost first; closures
// count as what they stand in.
func ownFuncs(frames []evidence.Frame) []string {
	var list []string
	for _, f := range frames {
		if !isOwn(f.Func) {
			continue
		}
		fn := closure.ReplaceAllString(f.Func, "")
		if !slices.Contains(list, fn) {
			list = append(list, fn)
		}
	}
	return list
}

// ioBelow estimates the part of the time in which one of the functions is in I/O
// when the holder of the lock is not known: time in waits and calls below the
// first of them, for one goroutine at a time.
func (s *sight) ioBelow(callers map[string]bool) float64 {
	below := func(frames []evidence.Frame) bool {
		own := ownFuncs(frames)
		return slices.ContainsFunc(own, func(fn string) bool { return callers[fn] && !isEntry(fn, frames) })
	}
	var part float64
	if s.Trace != nil && s.Trace.Took > 0 {
		var sum time.Duration
		for _, list := range [][]evidence.Blocking{s.Trace.Blocked, s.Trace.InSyscall} {
			for _, b := range list {
				if (b.Reason == "network" || b.Reason == "sleep" || b.Reason == "syscall") && below(b.Frames) {
					sum += b.Time
				}
			}
		}
		part = sum.Seconds() / s.Trace.Took.Seconds()
	}
	all := s.cpuShare(below)
	calls := s.cpuShare(func(frames []evidence.Frame) bool {
		return below(frames) && (through(frames, isRead) || through(frames, isWrite) || through(frames, isFileSync))
	})
	if all > 0 {
		// Between the waits, what it does with the lock held is calls of that kind.
		part = max(part, calls/all)
	}
	return min(1, part)
}

// isEntry reports whether fn is where the goroutine began: everything is below
// that.
func isEntry(fn string, frames []evidence.Frame) bool {
	own := ownFuncs(frames)
	return len(own) > 1 && own[len(own)-1] == fn
}

// answered is the part of the stacks that f picks on goroutines which wait for
// the network about as often as an operation is done: each call waits for the
// answer to the one before, as in a dialogue, and cannot be put together with
// the next.
func (s *sight) answered(f func([]evidence.Frame) bool) float64 {
	if s.Trace == nil || s.Trace.Took <= 0 || s.cpu == nil {
		return 0
	}
	waits := map[string]int64{}
	for _, b := range s.Trace.Blocked {
		if b.Reason == "network" && !strings.Contains(strings.Join(names(b.Frames), " "), "Accept") {
			waits[root(b.Frames)] += b.Count
		}
	}
	// How often each goroutine's root waits, for each operation. Of a server the operations are
	// not known: there it counts how many of the reads find nothing.
	perOp := func(root string) float64 {
		switch {
		case waits[root] == 0:
			return 0
		case s.Ops > 0 && s.Took > 0:
			return float64(waits[root]) / s.Trace.Took.Seconds() / (float64(s.Ops) / s.Took.Seconds())
		}
		return s.reads.again()
	}
	var picked, talking float64
	for _, st := range s.cpu.Stacks {
		if !f(st.Frames) {
			continue
		}
		picked += float64(st.Value)
		talking += float64(st.Value) * min(1, perOp(root(st.Frames)))
	}
	if picked == 0 {
		return 0
	}
	return talking / picked
}

func names(frames []evidence.Frame) []string {
	var list []string
	for _, f := range frames {
		list = append(list, f.Func)
	}
	return list
}
