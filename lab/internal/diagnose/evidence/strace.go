package evidence

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	maxStrace     = 128 << 20
	maxCallNames  = 1024  // Linux has some 450
	maxUnfinished = 65536 // threads that are in a call
	maxSizes      = 4096  // distinct sizes that are counted, of one call
	keptSizes     = 64
)

// A straceReader adds up the lines of strace -f -T, with or without -ttt. The
// form is that of strace(1); a line that does not have it is left out.
type straceReader struct {
	calls      map[string]*callTally
	unfinished map[string]begun // by the thread's number
	lines      int64            // with some call in it
	foreign    int64            // without
	goProgram  bool
	threads    map[string]*threadTally
	processes  map[string]string // by the thread's number: see processesOf
	out        *Calls
	repeats    repeats
	first      float64
	last       float64
}

type begun struct {
	text string
	at   float64
}

type threadTally struct {
	lock, io, parked, timeouts time.Duration
	woken                      int
	last                       float64       // when its call before began or, of one that waits for events, ended
	turn                       time.Duration // that it was away from its events, 0 where none waited
	asked                      *descriptor   // that it read last
	slept                      time.Duration // since then
	syncs                      bool          // it has ended an fsync
	received                   bool          // from a socket, after what it sent last, maybe by another descriptor of it
}

// A longTurn keeps the events of a loop waiting; one that had been ready is fetched within a promptFetch.
const (
	longTurn    = 50 * time.Millisecond
	promptFetch = 1e-3 // seconds
)

// oftenParked is how many times a second a thread is woken whose waits may be for a lock.
const oftenParked = 10

type callTally struct {
	Call
	sizes, asked map[int64]int64
}

// readStrace reads what strace wrote. When that is cut off in the middle of a
// line, the line is left out. Input in which no line is strace's is an error.
// goProgram says that the runtime of Go makes some of the calls for itself; known is what connectionsOf returns, and
// processes what processesOf does.
func readStrace(r io.Reader, goProgram bool, known map[string]connection, processes map[string]string) (*Calls, error) {
	out := &Calls{ByName: []Call{}}
	s := &straceReader{out: out, goProgram: goProgram, processes: map[string]string{}, calls: make(map[string]*callTally), unfinished: make(map[string]begun), threads: make(map[string]*threadTally)}
	s.repeats = repeats{out: out, descriptors: make(map[string]*descriptor), dialled: make(map[string]int64), requests: make(map[string]int64), refused: make(map[string]int64), opened: make(map[file]int64)}
	for number, is := range known {
		s.repeats.of(number).connection = is
	}
	maps.Copy(s.processes, processes)
	_, err := eachLine(r, "strace", maxStrace, s.line)
	if err == nil && s.lines == 0 && s.foreign > 0 {
		return nil, errors.New("not one line is strace's")
	}
	return s.sum(), err
}

var (
	// A line begins with the thread, as a number or [pid NUMBER], and the time, or without one of them.
	straceHead = regexp.MustCompile(`^\s*(?:\[pid +(\d+)\] +|(\d+) +)?(?:(\d{1,12}(?:\.\d+)?) +)?`)
	// Texts in quotes may hold ") = " too: the last one counts. Short calls are padded before it.
	straceCall = regexp.MustCompile(`^(\w{1,63})\((.*)\) *= (\S*)(.*?)(?:<([\d.]+)>)?$`)
	straceFork = regexp.MustCompile(`^(clone3?|v?fork)\(`).MatchString
)

// line takes one line:
//
//	4242  1700000000.123456 write(3, ""..., 64) = 64 <0.000012>
//	4242  1700000000.123456 read(4,  <unfinished ...>
//	4242  1700000000.123456 <... read resumed>""..., 4096) = 17 <0.000300>
//	4242  1700000000.123456 --- SIGURG {si_signo=SIGURG, ...} ---
//	4242  1700000000.123456 +++ exited with 0 +++
func (s *straceReader) line(line string) {
	head := straceHead.FindStringSubmatch(line)
	thread, rest := head[1]+head[2], strings.TrimSpace(line[len(head[0]):])
	at, err := strconv.ParseFloat(head[3], 64)
	began := at
	if err == nil {
		s.first = cmp.Or(s.first, at)
		s.repeats.first = s.first
		s.last = max(s.last, at)
	}
	if _, known := s.processes[thread]; !known && len(s.processes) < maxUnfinished {
		s.processes[strings.Clone(thread)] = "" // unless another is just beginning it
		for parent, call := range s.unfinished {
			s.born(thread, parent, call.text)
		}
	}
	switch {
	case strings.HasPrefix(rest, "---"), strings.HasPrefix(rest, "+++"), strings.HasSuffix(rest, "<detached ...>"):
		s.lines++
		return
	case strings.HasSuffix(rest, "<unfinished ...>"):
		s.lines++
		if len(s.unfinished) < maxUnfinished {
			// A copy: the part would keep the whole line.
			s.unfinished[thread] = begun{strings.Clone(strings.TrimSuffix(rest, "<unfinished ...>")), at}
		}
		return
	case strings.HasPrefix(rest, "<... "):
		name, after, ok := strings.Cut(rest[len("<... "):], " resumed>")
		if !ok {
			s.foreign++
			return
		}
		call := s.unfinished[thread].text
		began = s.unfinished[thread].at
		delete(s.unfinished, thread)
		if !strings.HasPrefix(call, name+"(") {
			call = name + "(" // strace came in the middle of the call
		}
		rest = call + after
	}
	if call := straceCall.FindStringSubmatch(rest); call != nil {
		s.lines++
		if call[1] == "execve" && call[3] == "0" { // what opened files before is another program
			s.processes[strings.Clone(thread)] = strings.Clone(thread) + ":"
		}
		s.repeats.process = s.processes[thread]
		s.call(thread, call[1], call[2], call[3], call[4], call[5])
		if moved, err := strconv.ParseInt(call[3], 0, 64); err == nil {
			if took, err := strconv.ParseFloat(call[5], 64); err == nil && began > 0 {
				at = began + took
			}
			if _, known := s.processes[call[3]]; !known && moved > 0 {
				s.born(call[3], thread, rest)
			}
			s.repeats.call(call[1], call[2], call[3], call[4], moved, began, at)
		}
		s.turned(thread, call[1], call[3], began, at)
	} else {
		s.foreign++
	}
}

// born notes the process of a thread that another begins with a call: that of the other, or a new one.
func (s *straceReader) born(thread, other, call string) {
	switch {
	case !straceFork(call):
	case strings.Contains(call, "CLONE_THREAD"):
		s.processes[strings.Clone(thread)] = s.processes[other]
	default:
		s.processes[strings.Clone(thread)] = strings.Clone(thread) + ":"
	}
}

// call books a whole call: its name, arguments and result, what follows that, such as an error's name and text,
// and the seconds that it took.
func (s *straceReader) call(thread, name, args, result, after, seconds string) {
	if number, _, _ := strings.Cut(args, ","); (name == "read" || name == "write") && s.repeats.of(number).wakes {
		name += " (eventfd)" // so that its 8 bytes are not taken for small data
	}
	c := s.calls[name]
	if c == nil {
		if len(s.calls) >= maxCallNames {
			return
		}
		name = strings.Clone(name)
		c = &callTally{Call: Call{Name: name}, sizes: make(map[int64]int64), asked: make(map[int64]int64)}
		s.calls[name] = c
	}
	s.out.Total++
	c.Count++
	if took, err := strconv.ParseFloat(seconds, 64); err == nil && took < 1e6 {
		c.Time += time.Duration(took * float64(time.Second))
		s.waited(thread, name, args, strings.TrimSpace(result+after), time.Duration(took*float64(time.Second)))
	}
	if at, polls := watchedAt[name]; polls {
		if n, err := strconv.ParseInt(argument(args, at), 0, 32); err == nil && n > 0 {
			c.Watched += n
		}
	}
	moved, err := strconv.ParseInt(result, 0, 64)
	switch {
	case err != nil: // "?": it did not return, or a signal came in between
		if result == "?" && strings.Contains(after, " ERESTART") {
			c.Errors++
		}
		return
	case moved < 0:
		c.Errors++
		if strings.Contains(after, "EMFILE") {
			s.out.NoFiles++
		}
	}
	asked := askedOf(name, args)
	switch {
	case asked >= 0:
		number, _, _ := strings.Cut(args, ",")
		d := s.repeats.of(number)
		c.moved(moved, asked, moved == asked && !d.scattered(name, args, moved))
		if way, t := direction(name), s.tally(thread); moved > 0 {
			sends := name == "sendto" || name == "sendmsg"
			if moved < 512 && d.way == way && !(sends && t.received) {
				c.Again++
			}
			switch {
			case way == "r":
				t.asked, t.slept = d, 0
			case t.asked == d && d.served && t.slept > 0:
				s.out.Sleeps, s.out.Slept, t.asked = s.out.Sleeps+1, s.out.Slept+t.slept, nil
			}
			d.way, t.received = way, strings.HasPrefix(name, "recv") || t.received && !sends
		}
	case moved == 0 && name == "futex" && strings.Contains(args, "FUTEX_WAIT") && !isLock(args):
		s.out.Woken++
	case name == "futex" && s.tally(thread).syncs && strings.Contains(args, "FUTEX_WAKE"):
		s.repeats.released += moved
	case moved == 0 && (name == "sched_yield" && !s.goProgram || asksOnly(name, args, s.goProgram)):
		c.Empty++
	}
}

var waits = regexp.MustCompile(`^(p?read|p?write|recv|send|fsync|fdatasync|msync|sync|nanosleep|clock_nanosleep|p?poll|select|pselect|epoll_p?wait|connect|accept)`).MatchString

// isLock reports whether a futex is a lock of the C library or of Rust's, by its arguments: 2 is what
// these write into one for which threads wait (lowlevellock.h of glibc).
func isLock(args string) bool {
	return strings.Contains(args, "FUTEX_WAIT_PRIVATE, 2,") || strings.Contains(args, "FUTEX_WAIT_BITSET_PRIVATE, 2, NULL")
}

// tally is the thread's, and kept unless there are too many.
func (s *straceReader) tally(thread string) *threadTally {
	t := s.threads[thread]
	if t == nil {
		if t = new(threadTally); len(s.threads) < maxUnfinished {
			s.threads[strings.Clone(thread)] = t
		}
	}
	return t
}

// turned notes how long a thread was away from its poller, in one step between two calls or in one call, while
// several events became ready: by what it fetches next without a wait.
func (s *straceReader) turned(thread, name, result string, began, ended float64) {
	t := s.tally(thread)
	if away := time.Duration((began - t.last) * float64(time.Second)); t.last > 0 && away >= longTurn && away < LongestEach {
		t.turn = away
	}
	t.last = began
	if !strings.HasPrefix(name, "epoll_") || name == "epoll_ctl" || s.goProgram { // of Go these are the scheduler's
		return
	}
	t.last = ended
	switch waited := ended-began > promptFetch; {
	case !waited && (result == "0" || result == "1"):
		return
	case !waited && t.turn > 0:
		s.out.Blocked += t.turn
		s.out.Turns++
	}
	t.turn = 0
}

func (s *straceReader) waited(thread, name, args, result string, took time.Duration) {
	futex := name == "futex" && strings.Contains(args, "FUTEX_WAIT") && !s.goProgram
	if !futex && !waits(name) {
		return
	}
	t := s.tally(thread)
	switch {
	case !futex:
		t.syncs = t.syncs || name[0] == 'f' && !s.goProgram
		if t.io += took; strings.HasSuffix(name, "nanosleep") {
			t.slept += took
		}
	case isLock(args):
		t.lock += took
	case strings.Contains(result, "ETIMEDOUT"):
		t.timeouts += took
	case result == "0":
		t.parked += took
		t.woken++
	}
}

// asksOnly reports whether a call asked what is ready without waiting for it. Go's
// scheduler does so in passing.
func asksOnly(name, args string, goProgram bool) bool {
	switch name {
	case "poll", "epoll_wait":
		return !goProgram && strings.HasSuffix(args, ", 0")
	case "epoll_pwait":
		return !goProgram && strings.Contains(args, ", 0, NULL")
	case "select", "pselect6", "ppoll":
		return strings.Contains(args, "tv_sec=0, tv_usec=0}") || strings.Contains(args, "tv_sec=0, tv_nsec=0}")
	}
	return false
}

func direction(name string) string {
	if name[0] == 'r' || name[0] == 'p' && !strings.HasPrefix(name, "pw") {
		return "r"
	}
	return "w"
}

// scattered reports whether a read does not begin where the one before on its file ended, so that no larger
// buffer would join them: those of pages of a database.
func (d *descriptor) scattered(name, args string, result int64) bool {
	at, err := strconv.ParseInt(argument(args, 3), 0, 64)
	if name != "pread64" || err != nil {
		return false
	}
	end := d.end
	d.end = plus(at, result)
	return at != end
}

// moved books a call that moves bytes, full when a larger buffer might have moved more.
func (c *callTally) moved(result, asked int64, full bool) {
	count(c.asked, asked)
	if result < 0 {
		return
	}
	count(c.sizes, result)
	c.Bytes = plus(c.Bytes, result)
	if result > 0 && full {
		c.Full++
	}
}

func (s *straceReader) sum() *Calls {
	for thread, call := range s.unfinished {
		if took := s.last - call.at; call.at > 0 && took < 1e6 && isLock(call.text) { // it waits to the end
			s.waited(thread, "futex", call.text, "", time.Duration(took*float64(time.Second)))
		}
	}
	out := s.out
	if d := s.last - s.first; d > 0 && d < 1e6 {
		out.Took = time.Duration(d * float64(time.Second))
	}
	for _, t := range s.threads {
		if t.lock > 0 {
			out.LockTime += t.lock
			out.LockIO += t.io
		}
		if float64(t.woken) >= oftenParked*out.Took.Seconds() && t.woken > 0 {
			out.Parked += t.parked
			out.Timeouts += t.timeouts
			out.ParkedIO += t.io
		}
	}
	s.repeats.finish(s.last)
	for _, c := range s.calls {
		c.Sizes, c.Asked = mostFrequent(c.sizes), mostFrequent(c.asked)
		out.ByName = append(out.ByName, c.Call)
	}
	slices.SortFunc(out.ByName, func(a, b Call) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func mostFrequent(counts map[int64]int64) []Size {
	var sizes []Size
	for _, size := range slices.Sorted(maps.Keys(counts)) {
		sizes = append(sizes, Size{size, counts[size]})
	}
	slices.SortStableFunc(sizes, func(a, b Size) int { return cmp.Compare(b.Count, a.Count) })
	return sizes[:min(len(sizes), keptSizes)]
}

// sizeAt is the index, from 0, of the argument with the number of bytes to move.
var sizeAt = map[string]int{
	"read": 2, "write": 2, "pread64": 2, "pwrite64": 2,
	"recvfrom": 2, "sendto": 2, "recv": 2, "send": 2,
	"sendfile": 3, "sendfile64": 3, "splice": 4, "tee": 2, "copy_file_range": 4,
}

// watchedAt is the index of the argument with the number of descriptors.
var watchedAt = map[string]int{"poll": 1, "ppoll": 1, "select": 0, "pselect6": 0}

var vectors = map[string]bool{
	"readv": true, "writev": true, "preadv": true, "pwritev": true, "preadv2": true, "pwritev2": true,
	"sendmsg": true, "recvmsg": true, "vmsplice": true,
}

// askedOf returns how many bytes a call was asked to move, from its arguments as
// strace writes them; -1 when it moves none, or the arguments do not show it.
func askedOf(name, args string) int64 {
	if vectors[name] {
		return iovecBytes(args)
	}
	n, ok := sizeAt[name]
	if !ok {
		return -1
	}
	bytes, err := strconv.ParseInt(argument(args, n), 0, 64)
	if err != nil || bytes < 0 {
		return -1
	}
	return bytes
}

var (
	texts  = regexp.MustCompile(`"(\\.|[^"\\])*"`)
	iovLen = regexp.MustCompile(`iov_len=(\d+)`)
	nested = regexp.MustCompile(`[\[{(][^\[{()}\]]*[\]})]`)
)

// iovecBytes adds up the lengths of a vector; -1 where it is cut short, as "[{...}, {...}, ...]": the
// sum would not be the truth.
func iovecBytes(args string) int64 {
	args = texts.ReplaceAllString(args, "")
	found := iovLen.FindAllStringSubmatch(args, -1)
	if len(found) == 0 || strings.Contains(args, "}, ...]") {
		return -1
	}
	var sum int64
	for _, f := range found {
		if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
			sum = plus(sum, n)
		}
	}
	return sum
}

// argument finds the nth of the arguments, which commas part outside of quotes
// and brackets; empty where there are fewer.
func argument(args string, n int) string {
	if strings.ContainsRune(args, '"') {
		args = texts.ReplaceAllString(args, "_")
	}
	for range 4 { // as deep as structures of calls that move bytes are
		if !strings.ContainsAny(args, "[{(") {
			break
		}
		args = nested.ReplaceAllString(args, "_")
	}
	if list := strings.Split(args, ","); n < len(list) {
		return strings.TrimSpace(list[n])
	}
	return ""
}
