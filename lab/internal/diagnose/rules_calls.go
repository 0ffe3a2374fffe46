package diagnose

import (
	"cmp"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// called is a finding of what strace saw, at the place of the processor time of a kind.
func (s *facts) called(kind func([]evidence.Frame) bool, otherwise string, share, score float64, clue string, args ...any) Finding {
	return finding(evidence.ToolStrace, where(s.cpu, kind, otherwise), share, score, clue, args...)
}

// smallWrites: most calls that write move few bytes, one after the other, so that the
// calls cost more than the bytes. What a compressor writes when it is flushed belongs to
// another rule.
func smallWrites(s *facts) (Finding, string) {
	writes := func(frames []evidence.Frame) bool { return through(frames, isWrite) && !through(frames, isFlush) }
	cpu, small := s.cpuShare(writes), s.writes.part(s.writes.again)
	f := s.called(writes, "write", small, cpu*small*s.busy,
		"%s of writes were under 512 B and followed another with nothing read in between", units.Percent(small))
	if size, part := usual(s.writes.sizes); part > 0.5 && size < 512 {
		f.Clue += fmt.Sprintf(", most of them %s", units.Bytes(size))
	}
	f.Clue += fmt.Sprintf("; calls that write took %s of the processor time", units.Percent(cpu))
	return f, ""
}

// smallReads: most calls that read ask for few bytes though more is there.
func smallReads(s *facts) (Finding, string) {
	cpu := s.cpuIn(isRead)
	// A read behind which the next one finds nothing took all that there was.
	small := min(s.reads.part(s.reads.again), s.reads.askedUnder(512))
	return s.called(passing(isRead), "read", small, small*(1-s.reads.part(s.reads.failed))*cpu*s.busy,
		"%s of reads asked for less than 512 B and got it, one after the other; calls that read took %s of the processor time", units.Percent(small), units.Percent(cpu)), ""
}

const (
	// roomy is the buffer from which on a larger one gains little.
	roomy = 32 << 10
	// slowStream is the number of bytes a second, while strace slows the program down, under which
	// no buffer is too small.
	slowStream = 2e6
	// callBytes is how many bytes a kernel moves in the time that a call costs by
	// itself, roughly: in reads of that size half of the time could be saved.
	callBytes = 4096
)

// smallBuffer: most reads fill their buffer, which is small, and there is more
// to read at once.
func smallBuffer(s *facts) (Finding, string) {
	r := &s.reads
	room, part := usual(r.asked)
	exact := part >= 0.5
	if !exact {
		room = most(r.asked) // a buffer that is filled behind what is left in it
	}
	full := r.part(r.full)
	if full < 0.3 || room < 512 || room >= roomy || float64(r.bytes) < slowStream*s.calls.Took.Seconds() {
		return Finding{}, ""
	}
	cpu, passed := s.cpuIn(isRead), 0.0
	if size, part := usual(s.writes.sizes); size == room && part > 0.5 {
		passed = s.cpuIn(isWrite) // what is read in pieces is passed on in pieces
	}
	f := s.called(passing(isRead), "read", full, full*(1-r.part(r.failed))*(cpu+passed)*s.busy*callBytes/float64(callBytes+room),
		"%s of reads filled their %s bytes", units.Percent(full), units.Count(room))
	if !exact {
		f.Clue = fmt.Sprintf("%s of reads filled the room that they had, at most %s bytes", units.Percent(full), units.Count(room))
	}
	f.Clue += fmt.Sprintf("; calls that read took %s of the processor time", units.Percent(cpu))
	if passed > 0 {
		f.Clue += fmt.Sprintf(", and calls that write pieces of the same size %s", units.Percent(passed))
	}
	return f, ""
}

// gathered is how many bytes for each fsync are thought to be gathered well.
const gathered = 64 << 10

// fsyncPerRecord: the program waits for the disk after each little that it writes.
func fsyncPerRecord(s *facts) (Finding, string) {
	calls, took := int64(0), 0.0
	for _, c := range s.calls.ByName {
		if isFileSync(c.Name) {
			calls += c.Count
			took += c.Time.Seconds()
		}
	}
	if calls == 0 || s.calls.Took <= 0 {
		return Finding{}, ""
	}
	each := max(0, s.writes.bytes) / calls
	part := min(1, took/s.calls.Took.Seconds())
	top := cmp.Or(s.waitingIn(isFileSync).top, where(s.cpu, passing(isFileSync), "fsync"))
	together := max(1, float64(s.calls.Covered)/float64(calls)) // two are not one for each already
	return finding(evidence.ToolStrace, top, part, 0.8*part*gathered/float64(gathered+each)/(together*together),
		"in fsync for %s of the time: %s calls, %s written for each", units.Percent(part), units.Count(calls), units.Bytes(each)), ""
}

// emptyPolls: most calls find nothing to do.
func emptyPolls(s *facts) (Finding, string) {
	nothing := s.reads.failed + s.writes.failed
	useful := max(0, s.reads.count) + max(0, s.writes.count)
	for _, c := range s.calls.ByName {
		nothing += c.Empty
	}
	// One that finds nothing for each that finds something is how a poller works.
	if nothing < 100 || nothing*10 < s.calls.Total || float64(nothing) < 2.5*float64(useful) {
		return Finding{}, ""
	}
	part := float64(nothing) / float64(nothing+useful)
	cpu := s.cpuIn(either(isSyscall, isRead, isWrite))
	return s.called(passing(either(isSyscall, isRead)), "EAGAIN", part, part*cpu*s.busy,
		"%s of calls found nothing to do, %s of them; system calls took %s of the processor time", units.Percent(part), units.Count(nothing), units.Percent(cpu)), ""
}

// wide is the number of descriptors from which on a call of poll costs more than one of epoll_wait by far.
const wide = 64

// widePolls: each call of poll or select asks about many descriptors, of which few have something.
func widePolls(s *facts) (Finding, string) {
	var calls, watched int64
	for _, c := range s.calls.ByName {
		if c.Watched > 0 {
			calls, watched = calls+c.Count, watched+c.Watched
		}
	}
	if calls < fewRepeats || watched < wide*calls {
		return Finding{}, ""
	}
	f := s.spent(passing(isPolling), "poll", "poll and select")
	f.Clue += fmt.Sprintf(", which were asked about %s descriptors each time", units.Count(watched/calls))
	return f, ""
}

// noDescriptors: there is no room for another file or connection.
func noDescriptors(s *facts) (Finding, string) {
	if s.calls.NoFiles < fewRepeats {
		return Finding{}, ""
	}
	return s.called(passing(either(isOpening, isAccepting)), "accept", float64(s.calls.NoFiles)/float64(s.calls.Total), 1,
		"%s calls within %s failed since as many files are open as the process may have (EMFILE)", units.Count(s.calls.NoFiles), units.Time(s.calls.Took)), ""
}

// fewRepeats is how often something is done before it counts as again and again.
const fewRepeats = 15

// delayedAck: small writes behind a first one wait in the kernel until the peer has acknowledged that
// one, which it does only after some 40 ms, since it waits for something to answer.
func delayedAck(s *facts) (Finding, string) {
	c := s.calls
	if c.Delayed < fewRepeats || c.Took <= 0 {
		return Finding{}, ""
	}
	part := float64(c.Delayed) / float64(c.Replies)
	took := min(1, c.DelayedTime.Seconds()/c.Took.Seconds())
	each := c.DelayedTime / time.Duration(c.Delayed)
	return s.called(passing(isWrite), "write", part, 0.9*part*took,
		"%s of replies came %s behind small writes: those behind the first wait for its acknowledgement (Nagle), which the peer delays by 40 ms", units.Percent(part), units.Time(each)), ""
}

// mostOnNew is how many writes a connection has that is made for one request, with its handshake.
const mostOnNew = 4

// connectionPerRequest: a connection to the same address is made again and again, with little on each, or not made since
// nothing is there.
func connectionPerRequest(s *facts) (Finding, string) {
	c, cpu := s.calls, s.cpuIn(isDialling)
	switch {
	case c.Refused.Count >= fewRepeats: // of one request each, if there are any
		f := s.called(passing(isDialling), "connect", cpu, max(cpu*s.busy, 0.9*min(1, float64(c.Refused.Count)/float64(max(1, c.Replies)))),
			"%s connections to %s could not be made within %s: nothing answers there", units.Count(c.Refused.Count), c.Refused.Name, units.Time(c.Took))
		f.Rule = "refused-connections"
		return f, ""
	case c.Dialled.Count < fewRepeats || c.Requests > mostOnNew*c.Dialled.Count:
		return Finding{}, ""
	}
	return s.called(passing(isDialling), "connections", cpu, cpu*s.busy,
		"%s connections to %s within %s, with %.1f writes on each; making and ending them took %s of the processor time",
		units.Count(c.Dialled.Count), c.Dialled.Name, units.Time(c.Took), float64(c.Requests)/float64(c.Dialled.Count), units.Percent(cpu)), ""
}

// isResolverFile matches what the C library looks at whenever it is asked for the address of a host.
var isResolverFile = oneOf("/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf")

// reopenedFile: files are opened, or asked about by their names, again and again.
func reopenedFile(s *facts) (Finding, string) {
	c := s.calls
	if c.Opened.Count < fewRepeats {
		return Finding{}, ""
	}
	if isResolverFile(c.Opened.Name) && !s.goProgram {
		f := s.spent(passing(isResolving), "getaddrinfo", "asking for addresses of hosts")
		f.Rule = "host-names"
		return f, ""
	}
	part := float64(c.Reopened) / float64(max(1, c.Opens))
	cpu := s.cpuIn(isOpening)
	return s.called(passing(isOpening), "open", part, part*cpu*s.busy,
		"%s was opened or asked about %s times within %s, and %s of such calls named what one had before; they took %s of the processor time", c.Opened.Name, units.Count(c.Opened.Count), units.Time(c.Took), units.Percent(part), units.Percent(cpu)), ""
}

// blockedLoop: the thread that answers all connections does one long job, and the others wait.
func blockedLoop(s *facts) (Finding, string) {
	c := s.calls
	if c.Took <= 0 || c.Turns <= 0 {
		return Finding{}, ""
	}
	part := min(1, c.Blocked.Seconds()/c.Took.Seconds())
	// What it waited for a processor is no fault of its own; one that sleeps waits for none.
	queued := s.Queued.Seconds()
	own := max(part*(1-queued/max(1e-9, s.CPUTime.Seconds()+queued)), part-queued/max(1e-9, s.Took.Seconds()))
	top := "the event loop"
	if list := spots(s.cpu, anyStack, ownOrInnermost); len(list) > 0 && list[0].frame.Own() {
		top = place(list[0].frame)
	}
	return finding(evidence.ToolStrace, top, part, own,
		"%s in which an event loop did one thing, of %s on average, while other events waited: %s of the time", units.Plural(c.Turns, "turn"), units.Time(c.Blocked/time.Duration(c.Turns)), units.Percent(part)), ""
}
