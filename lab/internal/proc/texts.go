package proc

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"time"
)

// The texts of /proc have no escapes that could be relied on, and the name of a
// process is whatever it likes: with spaces, parentheses, and lines.

// tick is the unit of times in /proc/PID/stat: USER_HZ, which is 100 on every
// architecture that Go runs on.
const tick = 10 * time.Millisecond

// stat is what is taken from /proc/PID/stat.
type stat struct {
	user, system time.Duration
	threads      int
	began        uint64 // ticks since boot
}

// parseStat reads /proc/PID/stat: the number, the name in parentheses, and from
// there on 50 fields, of which no one has a parenthesis.
func parseStat(text []byte) (stat, error) {
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return stat{}, malformed("stat", text)
	}
	// Fields are counted from 1 in proc(5); the first behind the name is 3.
	fields := bytes.Fields(text[end+1:])
	field := func(n int) (uint64, bool) {
		if n-3 >= len(fields) {
			return 0, false
		}
		return count(fields[n-3])
	}
	user, okUser := field(14)
	system, okSystem := field(15)
	threads, okThreads := field(20)
	began, okBegan := field(22)
	const most = uint64(math.MaxInt64 / tick)
	if !okUser || !okSystem || !okThreads || !okBegan || user > most || system > most || threads > math.MaxInt32 {
		return stat{}, malformed("stat", text)
	}
	return stat{time.Duration(user) * tick, time.Duration(system) * tick, int(threads), began}, nil
}

// status is what is taken from /proc/PID/status.
type status struct {
	switches
	hasSwitches bool
	resident    int64 // bytes; 0 if there is no such line, as for a process that is ending
}

// parseStatus reads /proc/PID/status, a name and a value in each line.
func parseStatus(text []byte) (status, error) {
	var s status
	var voluntary, involuntary bool
	for line := range bytes.Lines(text) {
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			continue
		}
		value = bytes.TrimSpace(value)
		switch string(name) {
		case "voluntary_ctxt_switches":
			s.voluntary, voluntary = count(value)
			ok = voluntary
		case "nonvoluntary_ctxt_switches":
			s.involuntary, involuntary = count(value)
			ok = involuntary
		case "VmRSS":
			number, _ := bytes.CutSuffix(value, []byte("kB"))
			kib, is := count(bytes.TrimSpace(number))
			ok = is && kib <= math.MaxInt64>>10
			s.resident = int64(kib << 10)
		}
		if !ok {
			return status{}, malformed("status", line)
		}
	}
	s.hasSwitches = voluntary && involuntary
	return s, nil
}

// parseIO reads /proc/PID/io, which has the calls that went through read(2) and
// write(2) and what is built like them, on files and sockets; recv(2) and
// send(2) go another way and are not counted.
func parseIO(text []byte) (calls, error) {
	var c calls
	var hasRead, hasWrite bool
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "syscr":
			c.read, hasRead = count(bytes.TrimSpace(value))
		case "syscw":
			c.write, hasWrite = count(bytes.TrimSpace(value))
		}
	}
	if !hasRead || !hasWrite {
		return calls{}, malformed("io", text)
	}
	return c, nil
}

// parseSchedstat reads /proc/PID/task/TID/schedstat: nanoseconds on a processor,
// nanoseconds waiting for one, and how often it got one.
func parseSchedstat(text []byte) (queued time.Duration, err error) {
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, malformed("schedstat", text)
	}
	ns, ok := count(fields[1])
	if !ok || ns > math.MaxInt64 {
		return 0, malformed("schedstat", text)
	}
	return time.Duration(ns), nil
}

// count reads a decimal number without a sign.
func count(text []byte) (uint64, bool) {
	if len(text) == 0 || len(text) > 20 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text), 10, 64)
	return n, err == nil
}

func malformed(file string, text []byte) error {
	return fmt.Errorf("proc: %s reads %.80q, which is not its form", file, text)
}
