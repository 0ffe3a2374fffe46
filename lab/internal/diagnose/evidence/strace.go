package evidence

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of what is read of strace's output.
const (
	maxStrace     = 128 << 20
	maxStraceLine = 64 << 10
	maxCallNames  = 1024  // Linux has some 450
	maxUnfinished = 65536 // threads that are in a call
	maxSizes      = 4096  // distinct sizes that are counted, of one call
	keptSizes     = 64
)

// A straceReader adds up the lines of strace -f -T, with or without -ttt. The
// form is that of strace(1); a line that does not have it is left out.
type straceReader struct {
	calls      map[string]*callTally
	unfinished map[string]string // what a thread's call began with, by the thread's number
	total      int64
	lines      int64 // with some call in it
	foreign    int64 // without
	known      map[int]descriptor
	first      float64
	last       float64
}

type callTally struct {
	Call
	sizes, asked map[int64]int64
}

// readStrace reads what strace wrote. When that is cut off in the middle of a
// line, the line is left out. Input in which no line is strace's is an error.
// known are descriptors of which more is known than strace prints; it may be nil.
func readStrace(r io.Reader, known map[int]descriptor) (*Calls, error) {
	s := &straceReader{known: known, calls: make(map[string]*callTally), unfinished: make(map[string]string)}
	limited := &io.LimitedReader{R: r, N: maxStrace}
	in := bufio.NewReaderSize(limited, maxStraceLine)
	for {
		line, err := in.ReadSlice('\n')
		if err == nil {
			s.line(string(line[:len(line)-1]))
			continue
		}
		// A line longer than any that is looked at: what is left of it is skipped.
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		if err == nil {
			s.foreign++
			continue
		}
		if !errors.Is(err, io.EOF) {
			return s.sum(), fmt.Errorf("evidence: reading strace's output: %w", err)
		}
		break
	}
	switch {
	case limited.N == 0:
		return s.sum(), fmt.Errorf("evidence: strace wrote more than %d MiB: %w", maxStrace>>20, ErrTooLarge)
	case s.lines == 0 && s.foreign > 0:
		return nil, errors.New("evidence: not one line is strace's")
	}
	return s.sum(), nil
}

// A descriptor is what is known of one of the process's files.
type descriptor int

const (
	wakeups descriptor = iota + 1 // an eventfd: Go's runtime wakes its poller with it
	ours                          // a pipe between the child and us
)

// line takes one line:
//
//	4242  1700000000.123456 write(3, ""..., 64) = 64 <0.000012>
//	4242  1700000000.123456 read(4,  <unfinished ...>
//	4242  1700000000.123456 <... read resumed>""..., 4096) = 17 <0.000300>
//	4242  1700000000.123456 --- SIGURG {si_signo=SIGURG, ...} ---
//	4242  1700000000.123456 +++ exited with 0 +++
func (s *straceReader) line(line string) {
	thread, rest := "", strings.TrimSpace(line)
	if tag, after, ok := strings.Cut(rest, "] "); ok && strings.HasPrefix(tag, "[pid ") {
		thread, rest = strings.TrimSpace(tag[len("[pid "):]), strings.TrimSpace(after)
	} else if word, after, ok := strings.Cut(rest, " "); ok && isNumber(word) {
		thread, rest = word, strings.TrimSpace(after)
	}
	if word, after, ok := strings.Cut(rest, " "); ok {
		if at, err := strconv.ParseFloat(word, 64); err == nil && word[0] >= '0' && word[0] <= '9' && at < 1e12 {
			if s.first == 0 {
				s.first = at
			}
			s.last = max(s.last, at)
			rest = strings.TrimSpace(after)
		}
	}
	switch {
	case strings.HasPrefix(rest, "---"), strings.HasPrefix(rest, "+++"):
		s.lines++
		return
	case strings.HasSuffix(rest, "<unfinished ...>"):
		s.lines++
		if len(s.unfinished) < maxUnfinished {
			// A copy: the part would keep the whole line.
			s.unfinished[thread] = strings.Clone(strings.TrimSuffix(rest, "<unfinished ...>"))
		}
		return
	case strings.HasPrefix(rest, "<... "):
		name, after, ok := strings.Cut(rest[len("<... "):], " resumed>")
		if !ok {
			s.foreign++
			return
		}
		begun, known := s.unfinished[thread]
		delete(s.unfinished, thread)
		if !known || !strings.HasPrefix(begun, name+"(") {
			begun = name + "(" // strace came in the middle of the call
		}
		rest = begun + after
	}
	if !s.call(rest) {
		s.foreign++
	}
}

// call books a whole call: name(arguments) = result, an error's name and text,
// and the time that it took.
func (s *straceReader) call(text string) bool {
	name, rest, ok := strings.Cut(text, "(")
	if !ok || !isName(name) {
		return false
	}
	// The last one: a text in quotes may hold the same characters. Short calls are
	// padded before it.
	at := strings.LastIndex(rest, " = ")
	if at < 0 {
		return false
	}
	args, ok := strings.CutSuffix(strings.TrimRight(rest[:at], " "), ")")
	if !ok {
		return false
	}
	tail := rest[at+len(" = "):]
	s.lines++
	if name == "read" || name == "write" {
		number, _, _ := strings.Cut(args, ",")
		if fd, err := strconv.Atoi(number); err == nil {
			switch s.known[fd] {
			case ours:
				return true
			case wakeups:
				name += " (eventfd)" // so that its 8 bytes are not taken for small data
			}
		}
	}
	c := s.calls[name]
	if c == nil {
		if len(s.calls) >= maxCallNames {
			return true
		}
		name = strings.Clone(name)
		c = &callTally{Call: Call{Name: name}, sizes: make(map[int64]int64), asked: make(map[int64]int64)}
		s.calls[name] = c
	}
	s.total++
	c.Count++
	if at := strings.LastIndexByte(tail, '<'); at >= 0 && strings.HasSuffix(tail, ">") {
		if seconds, err := strconv.ParseFloat(tail[at+1:len(tail)-1], 64); err == nil && seconds >= 0 && seconds < 1e6 {
			c.Time += time.Duration(seconds * float64(time.Second))
		}
	}
	word, _, _ := strings.Cut(strings.TrimSpace(tail), " ")
	result, err := strconv.ParseInt(word, 0, 64)
	switch {
	case err != nil: // "?": it did not return, or a signal came in between
		if word == "?" && strings.Contains(tail, " ERESTART") {
			c.Errors++
		}
		return true
	case result < 0:
		c.Errors++
	}
	c.moved(result, askedOf(name, args))
	return true
}

// moved books a call that moves bytes. Asked is negative for the others.
func (c *callTally) moved(result, asked int64) {
	if asked < 0 {
		return
	}
	raise(c.asked, asked)
	if result < 0 {
		return
	}
	raise(c.sizes, result)
	c.Bytes = plus(c.Bytes, result)
	if result > 0 && result < 512 {
		c.Under512++
	}
	if result > 0 && result == asked {
		c.Full++
	}
}

func raise(counts map[int64]int64, size int64) {
	if _, known := counts[size]; known || len(counts) < maxSizes {
		counts[size]++
	}
}

func (s *straceReader) sum() *Calls {
	out := &Calls{Total: s.total, ByName: []Call{}}
	if d := s.last - s.first; d > 0 && d < 1e6 {
		out.Took = time.Duration(d * float64(time.Second))
	}
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

func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func isName(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_':
		default:
			return false
		}
	}
	return s != "" && len(s) < 64
}
