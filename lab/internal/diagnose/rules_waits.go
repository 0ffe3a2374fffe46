package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// A queue is goroutines or threads that wait for a lock in one function, whatever the
// line.
type queue struct {
	tool    string
	top     string
	fn      string
	waiting float64 // at any time, on average
	working float64 // goroutines that work or are ready, at least one
	inIO    float64 // part of the waiting in which the holder did I/O or slept
	guess   bool    // the holder was not seen
	try     string  // other than the usual advice
	sends   bool    // to a channel
}

const (
	// likeLocks is the part of the moments with one goroutine in I/O, or at work, from which on a channel is taken for a
	// lock.
	likeLocks = 0.5
	// crowd is how many have to wait for one at work. Of few that do not wait for each other one often works by chance.
	crowd = 3
)

// working is how many goroutines work or are ready at any time, at least one.
func (s *facts) working() float64 { return max(1, s.waits.Running+s.waits.Runnable) }

func (s *facts) queues() []*queue {
	by := map[string]*queue{}
	add := func(tool string, frames []evidence.Frame, waiting, inIO float64) *queue {
		f, _ := evidence.Own(frames)
		q := by[f.Func]
		if q == nil {
			q = &queue{tool: tool, top: place(f), fn: f.Func, working: s.working()}
			by[f.Func] = q
		}
		q.inIO = (q.inIO*q.waiting + inIO*waiting) / max(q.waiting+waiting, 1e-9)
		q.waiting += waiting
		return q
	}
	switch {
	case s.Waits != nil:
		for _, p := range s.Waits.Places {
			channel := p.Reason == "chan send" || p.Reason == "chan receive" || p.Reason == "select"
			one := channel && p.WhileIO >= likeLocks || (channel || p.Reason == "sync.Cond.Wait") && p.Serves && p.Alone >= likeLocks && p.Mean >= crowd
			if evidence.LocksGoroutines(p.Reason) || one && !p.Grew {
				add(s.waitsTool, p.Frames, p.Mean, p.WhileIO).sends = p.Reason == "chan send" && p.Alone < likeLocks
			}
		}
	case !empty(s.Block) && s.Took > 0:
		for _, st := range s.Block.Stacks {
			if through(st.Frames, isLocking) {
				add(evidence.ToolLocks, st.Frames, time.Duration(st.Value).Seconds()/s.Took.Seconds(), 0).guess = true
			}
		}
	case s.Calls != nil && s.Took > 0:
		c := s.Calls
		waited, inIO := c.LockTime, c.LockIO
		if s.parksIn(isReadersLock) {
			waited, inIO = waited+c.Parked, inIO+c.ParkedIO
		}
		waited += time.Duration(s.spun() * s.CPUTime.Seconds() / s.Took.Seconds() * float64(s.callsTook()))
		s.threads(add, where(s.cpu, passing(either(isLocking, isParking)), "pthread_mutex_lock"), waited, inIO)
		switch {
		case s.parksIn(isMonitor): // a thread that sleeps does it with a time
			s.threads(add, "ObjectMonitor::enter: a monitor of Java's", c.Parked, c.ParkedIO+c.Timeouts)
		case s.parksIn(isInterpreter): // a thread asks again every 5 ms
			if q := s.threads(add, "take_gil: the lock of Python's interpreter", c.Parked+c.Timeouts, 0); q != nil {
				q.try = "one thread computes at a time: processes in place of threads (multiprocessing), or work in extensions that release the lock"
			}
		}
	}
	return slices.SortedFunc(maps.Values(by), func(a, b *queue) int {
		return cmp.Or(cmp.Compare(b.waiting, a.waiting), cmp.Compare(a.fn, b.fn))
	})
}

// spun is the part of the processor time in which threads ask for locks that are taken: free ones cost half of it at most.
func (s *facts) spun() float64 {
	asking := s.cpuShare(func(frames []evidence.Frame) bool { return len(frames) > 0 && isSpinning(frames[0].Func) })
	return max(0, 2*asking-1)
}

// callsTook is how long system calls were looked at; a second where there was none.
func (s *facts) callsTook() time.Duration { return cmp.Or(max(0, s.calls.Took), time.Second) }

// threads adds what system calls say: how long threads waited for a lock, and how long they were in
// I/O meanwhile.
func (s *facts) threads(add func(string, []evidence.Frame, float64, float64) *queue, top string, waited, inIO time.Duration) *queue {
	if waited <= 0 {
		return nil
	}
	took := s.callsTook().Seconds()
	q := add(evidence.ToolStrace, []evidence.Frame{{Func: top}}, waited.Seconds()/took, 0)
	q.top = top
	// One holds the lock at a time: where more of them are in I/O, it is not held meanwhile.
	if io := inIO.Seconds() / took; io < 1.5 {
		q.inIO = min(1, io)
	}
	return q
}

const (
	// mostParks is the part of the samples of threads that begin or end a wait from which on all
	// waits are taken to be of the kind.
	mostParks = 0.8
	// fewParks is how many samples of them say something.
	fewParks = 5
)

// parksIn reports whether the threads wait for each other in functions of that kind, by perf.
func (s *facts) parksIn(kind matcher) bool {
	if s.Perf == nil {
		return false
	}
	var all, in int64
	for _, st := range s.Perf.Stacks {
		if through(st.Frames, kind) {
			in += st.Count
		} else if !through(st.Frames, isParking) {
			continue
		}
		all += st.Count
	}
	return in >= fewParks && float64(in) >= mostParks*float64(all)
}

// blocked is the part of its time that the program loses to this lock: what waits for it, of
// that and what works or is ready meanwhile.
func (q *queue) blocked() float64 { return q.waiting / (q.working + q.waiting) }

func (q *queue) found(score float64, clue string, args ...any) Finding {
	return finding(q.tool, q.top, q.blocked(), score, clue, args...)
}

// oftenWoken is how many times a second threads have to wait for each other for that to be worth a word.
const oftenWoken = 20

// clear returns what was found of locks; where nothing was, and system calls are all that was seen,
// why that may be wrong: waits for the locks of Java, Python and Rust look there like waits for work.
func (s *facts) clear(f Finding) (Finding, string) {
	c := s.Calls
	if f.Tool == evidence.ToolStrace && f.Score >= faint && s.Processors > 0 && s.Others >= mostOthers*float64(s.Processors) {
		// While none of its threads was ready, and without a processor, all that waited waited for the lock.
		if f.Score *= 1 - s.Queued.Seconds()/max(1e-9, s.Took.Seconds()); f.Score >= Significant && s.Queued > 0 {
			return f, ""
		}
		return Finding{}, fmt.Sprintf("other programs used %.1f of %d processors: system calls do not say which waits were for those", s.Others, s.Processors)
	}
	if f.Score >= faint || s.goProgram || s.Waits != nil || !empty(s.Block) || c == nil || c.Took <= 0 {
		return f, ""
	}
	rate := float64(c.Woken) / c.Took.Seconds()
	if rate < oftenWoken {
		return f, ""
	}
	return Finding{}, fmt.Sprintf("its threads wait for each other %s times a second, and system calls do not say whether for a lock or for work: jstack, py-spy dump or gdb say where", units.Number(rate))
}

// mostOthers is the part of the processors from which on, when others use it, a thread in a system call, or with
// a lock, is as often ready to run as it waits.
const mostOthers = 0.5

// lockOverIO: goroutines wait for a lock whose holder waits for I/O.
func lockOverIO(s *facts) (Finding, string) {
	f := locked(s.queues(), func(q *queue) float64 { return q.blocked() * q.inIO })
	return s.clear(f)
}

// spare is the part of the machine's processors that do no work of the program, which is the most that fewer
// waits for locks give back to threads; 1 where that is not known.
func (s *facts) spare() float64 {
	if s.goProgram || s.Processors == 0 || s.Took <= 0 || !s.Saw(evidence.ToolProc) {
		return 1
	}
	works := 1 - s.cpuIn(either(isLocking, isParking, isMonitor, isInterpreter, isSyscall))
	return max(0, 1-works*s.CPUTime.Seconds()/(s.Took.Seconds()*float64(s.Processors)))
}

// lockContention: goroutines wait for a lock whose holder works.
func lockContention(s *facts) (Finding, string) {
	f := locked(s.queues(), func(q *queue) float64 { return q.blocked() * (1 - q.inIO) })
	if f.Score /= 2; f.Score > 0 { // another goroutine works while one waits, unless that spins
		f.Score = max(f.Score, s.spun()*s.busy)
	}
	if spare := s.spare(); spare < Significant {
		f.Score = min(f.Score, spare)
		return f, ""
	}
	return s.clear(f)
}

func locked(list []*queue, score func(*queue) float64) Finding {
	var f Finding
	for _, q := range list {
		if score(q) <= f.Score {
			continue
		}
		f = q.found(score(q), "%.1f waited for the lock at any time; its holder was in I/O or asleep for %s of that", q.waiting, units.Percent(q.inIO))
		switch f.Try = q.try; {
		case q.sends:
			f.Clue = fmt.Sprintf("%.1f waited to send to a channel at any time; who receives, or has its places, was in I/O or asleep for %s of that", q.waiting, units.Percent(q.inIO))
			f.Try = "more goroutines that receive, or less I/O and sleep in them; a longer channel helps with bursts only"
		case q.guess:
			f.Clue = fmt.Sprintf("%.1f waited for the lock at any time; what its holder did is not in this profile", q.waiting)
		}
	}
	return f
}

// waitingIn is what waits below functions of a kind, but for goroutines of the libraries' own in I/O, for which others
// wait.
func (s *facts) waitingIn(kind matcher) *queue {
	q := &queue{tool: s.waitsTool, working: s.working()}
	for _, p := range s.waits.Places {
		own, known := evidence.Own(p.Frames)
		if !through(p.Frames, kind) || !known && p.Reason == evidence.ReasonNetwork {
			continue
		}
		if q.waiting += p.Mean; q.top == "" {
			q.top = place(own)
		}
	}
	return q
}

// sleeps: who has a request sleeps before the answer, which leaves those behind it waiting.
func sleeps(s *facts) (Finding, string) {
	q := &queue{tool: s.waitsTool, working: s.working()}
	for _, p := range s.waits.Places {
		if p.Serves && p.Reason == evidence.ReasonSleep && s.writes.count <= mostOnNew*s.calls.Replies { // a stream is paced
			q.waiting, q.top = q.waiting+p.Mean, cmp.Or(q.top, place(ownOrInnermost(p.Frames)))
		}
	}
	if c := s.calls; !s.goProgram && c.Sleeps >= fewRepeats && s.Took > 0 && c.LockTime < c.Slept { // else it is lockOverIO's
		q = &queue{tool: evidence.ToolStrace, top: where(s.cpu, passing(isSleeping), "sleep"), waiting: c.Slept.Seconds() / s.callsTook().Seconds(),
			working: s.CPUTime.Seconds() / s.Took.Seconds()}
	}
	return q.found(min(1, q.waiting)*q.blocked(), "%.1f slept with a request at any time", q.waiting), ""
}

// runtimeCalls: the runtime is asked again and again for what stops all goroutines, or follows their stacks.
func runtimeCalls(s *facts) (Finding, string) {
	f := s.spent(passing(isRuntimeCall), "runtime.Stack", "collections, statistics and stacks that the program asks the runtime for")
	if q := s.waitingIn(isRuntimeCall); q.blocked() > f.Score {
		f = q.found(q.blocked(), "%.1f goroutines waited at any time for collections, statistics or stacks that they ask the runtime for, which stop all others", q.waiting)
	}
	return f, ""
}

// nameLookups: goroutines or threads wait until the names of hosts are found.
func nameLookups(s *facts) (Finding, string) {
	q, who := s.waitingIn(isResolving), "goroutines"
	if !s.goProgram {
		q, who = &queue{tool: evidence.ToolStrace, top: where(s.cpu, passing(isResolving), "getaddrinfo"), waiting: s.calls.Asking, working: 1}, "threads"
	}
	return q.found(q.blocked(), "%.1f %s waited for the address of a host at any time", q.waiting, who), ""
}

// smallPool: goroutines wait for one of few connections or places, and all of those are in use.
func smallPool(s *facts) (Finding, string) {
	var f Finding
	for _, p := range s.waits.Places {
		q := &queue{tool: s.waitsTool, top: place(ownOrInnermost(p.Frames)), waiting: p.Mean, working: float64(p.Pool) + s.working()}
		if p.Pool > 0 && q.blocked() > f.Score {
			f = q.found(q.blocked(), "%.1f goroutines waited here at any time (%s) while %d others were in I/O or asleep below: there seem to be that many connections, or places", p.Mean, p.Reason, p.Pool)
		}
	}
	return f, ""
}

// leaking is how many goroutines a second have to be added.
const leaking = 10

// goroutineLeak: there are more and more goroutines that wait in one place, and none of them ends.
func goroutineLeak(s *facts) (Finding, string) {
	w := s.waits
	var f Finding
	connections := 0 // that were added, with goroutines of theirs
	for _, p := range w.Places {
		if p.Reason == evidence.ReasonNetwork {
			connections += p.Last - p.First
		}
	}
	for _, p := range w.Places {
		added := p.Last - p.First
		if !p.Grew || float64(connections) > 0.8*float64(added) ||
			p.Reason == evidence.ReasonNetwork || p.Reason == evidence.ReasonSleep || p.Reason == evidence.ReasonSyscall || float64(added)/w.Took.Seconds() < leaking {
			continue
		}
		score := 0.5 + 0.5*float64(added)/float64(max(w.Last, 1))
		if score <= f.Score {
			continue
		}
		at := ownOrInnermost(p.Frames)
		f = finding(s.waitsTool, place(at), float64(p.Last)/float64(max(w.Last, 1)), score,
			"%s goroutines wait here (%s), %s more than %s before, and none has gone on", units.Count(int64(p.Last)), p.Reason, units.Count(int64(added)), units.Time(w.Took))
		if strings.HasPrefix(at.Func, "net/http.(*persistConn).") {
			f.Rule = "unclosed-body"
		}
	}
	return f, ""
}
