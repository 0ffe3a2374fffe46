package evidence

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"
)

func callOf(t *testing.T, c *Calls, name string) Call {
	t.Helper()
	i := slices.IndexFunc(c.ByName, func(c Call) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no %s among %+v", name, c.ByName)
	}
	return c.ByName[i]
}

func TestStraceOfAConversation(t *testing.T) {
	c, err := readStrace(iotest.HalfReader(bytes.NewReader(recorded(t, "strace-net.txt"))), false, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	// A client sends 90 bytes five times; the peer reads them whole, asks for 4,096 and
	// answers 5 each time.
	recv, send := callOf(t, c, "recvfrom"), callOf(t, c, "sendto")
	if recv.Errors != 1 || !slices.Contains(recv.Asked, Size{4096, recv.Asked[0].Count}) || recv.Sizes[0].Bytes != 5 {
		t.Errorf("recvfrom: %+v", recv)
	}
	// Of the first one only the end was seen.
	if send.Full != send.Count-1 {
		t.Errorf("sendto: %+v", send)
	}
	for name, want := range map[string]Call{
		"writev":   {Count: 1, Bytes: 20, Full: 1, Asked: []Size{{20, 1}}, Sizes: []Size{{20, 1}}},
		"sendmsg":  {Count: 1, Bytes: 5, Full: 1, Asked: []Size{{5, 1}}, Sizes: []Size{{5, 1}}},
		"recvmsg":  {Count: 1, Bytes: 5, Asked: []Size{{100, 1}}, Sizes: []Size{{5, 1}}},
		"read":     {Count: 1, Bytes: 512, Full: 1, Asked: []Size{{512, 1}}, Sizes: []Size{{512, 1}}},
		"write":    {Count: 1, Bytes: 600, Full: 1, Asked: []Size{{600, 1}}, Sizes: []Size{{600, 1}}},
		"sendfile": {Count: 1, Bytes: 3, Again: 1, Asked: []Size{{100, 1}}, Sizes: []Size{{3, 1}}},
	} {
		got := callOf(t, c, name)
		want.Name = name
		if want.Time = got.Time; got.Time <= 0 || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
	}
	if c.Took < 5*time.Millisecond || c.Took > time.Minute {
		t.Errorf("took %v", c.Took)
	}
}

func TestStraceOfAGoProgramFromTheMiddle(t *testing.T) {
	data := recorded(t, "strace-go.txt")
	c, err := readStrace(bytes.NewReader(data), false, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Every call that ended is one line with a result.
	if want := int64(bytes.Count(data, []byte(" = "))); c.Total != want {
		t.Errorf("%d calls, want %d", c.Total, want)
	}
	futex := callOf(t, c, "futex")
	if futex.Errors == 0 || futex.Bytes != 0 || futex.Sizes != nil {
		t.Errorf("futex: %+v", futex)
	}
	// What is known of descriptors: 6 is the runtime's eventfd.
	c, err = readStrace(bytes.NewReader(data), true, map[string]connection{"6": {wakes: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w := callOf(t, c, "write (eventfd)"); w.Count == 0 || slices.ContainsFunc(c.ByName, func(c Call) bool { return c.Name == "write" || c.Name == "read" }) {
		t.Errorf("%+v", c.ByName)
	}
}

func TestStraceWithTextsAndWithoutTimes(t *testing.T) {
	c, err := readStrace(bytes.NewReader(recorded(t, "strace-plain.txt")), false, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Took != 0 || callOf(t, c, "recvmsg").Asked[0].Bytes != 100 {
		t.Errorf("%+v", c)
	}
}

func TestStraceLines(t *testing.T) {
	tests := []struct {
		name, lines string
		want        []Call
	}{
		{"an early end", "exit_group(0) = ?\n", []Call{{Name: "exit_group", Count: 1}}},
		{"interrupted", `12 read(3, 0xc000, 4096) = ? ERESTARTSYS (To be restarted if SA_RESTART is set) <1.5>` + "\n",
			[]Call{{Name: "read", Count: 1, Errors: 1, Time: 1500 * time.Millisecond}}},
		{"padding", "munmap(0x7f, 41723)     = -1 EINVAL (Invalid argument) <0.000013>\n", []Call{{Name: "munmap", Count: 1, Errors: 1, Time: 13 * time.Microsecond}}},
		{"a text with brackets and a result", `write(1, "x) = 7, \"quoted\", (", 30) = 30 <0.000001>` + "\n",
			[]Call{{Name: "write", Count: 1, Time: time.Microsecond, Bytes: 30, Full: 1, Sizes: []Size{{30, 1}}, Asked: []Size{{30, 1}}}}},
		{"a vector that is cut short", `writev(6, [{iov_base=""..., iov_len=4}, ...], 9) = 20` + "\n", []Call{{Name: "writev", Count: 1}}},
		{"a text that looks like a vector", `writev(6, [{iov_base="iov_len=99", iov_len=10}], 1) = 10` + "\n",
			[]Call{{Name: "writev", Count: 1, Bytes: 10, Full: 1, Sizes: []Size{{10, 1}}, Asked: []Size{{10, 1}}}}},
		{"the end of a call that nobody saw begin", `7 <... read resumed>""..., 512) = 12 <0.1>` + "\n",
			[]Call{{Name: "read", Count: 1, Time: 100 * time.Millisecond}}},
		{"the pid form", "[pid    77] write(1, ..., 600) = 600\n", []Call{{Name: "write", Count: 1, Bytes: 600, Full: 1, Sizes: []Size{{600, 1}}, Asked: []Size{{600, 1}}}}},
		{"threads between each other", "1 read(3,  <unfinished ...>\n2 read(4,  <unfinished ...>\n1 <... read resumed>..., 10) = 1\n2 <... read resumed>..., 20) = 20\n",
			[]Call{{Name: "read", Count: 2, Bytes: 21, Full: 1, Sizes: []Size{{1, 1}, {20, 1}}, Asked: []Size{{10, 1}, {20, 1}}}}},
		{"pages here and there", "pread64(3, ..., 100, 0) = 100\npread64(3, ..., 100, 100) = 100\npread64(3, ..., 100, 700) = 100\n", []Call{{Name: "pread64", Count: 3, Bytes: 300, Full: 2, Again: 2, Sizes: []Size{{100, 3}}, Asked: []Size{{100, 3}}}}},
		{"one after the other", "write(3, ..., 10) = 10\nwrite(3, ..., 10) = 10\nwrite(4, ..., 10) = 10\n", []Call{{Name: "write", Count: 3, Bytes: 30, Full: 3, Again: 1, Sizes: []Size{{10, 3}}, Asked: []Size{{10, 3}}}}},
		{"a dialogue", "write(3, ..., 10) = 10\nread(3, ..., 10) = 10\nwrite(3, ..., 10) = 10\n", []Call{
			{Name: "write", Count: 2, Bytes: 20, Full: 2, Sizes: []Size{{10, 2}}, Asked: []Size{{10, 2}}},
			{Name: "read", Count: 1, Bytes: 10, Full: 1, Sizes: []Size{{10, 1}}, Asked: []Size{{10, 1}}}}},
		{"a dialogue by two descriptors of a socket", strings.Repeat("1 recvfrom(3, ..., 900, 0, NULL, NULL) = 10\n1 sendto(4, ..., 10, 0, NULL, 0) = 10\n", 2) + "1 sendto(4, ..., 10, 0, NULL, 0) = 10\n", []Call{
			{Name: "sendto", Count: 3, Bytes: 30, Again: 1, Full: 3, Sizes: []Size{{10, 3}}, Asked: []Size{{10, 3}}},
			{Name: "recvfrom", Count: 2, Bytes: 20, Again: 1, Sizes: []Size{{10, 2}}, Asked: []Size{{900, 2}}}}},
		{"nothing was ready", "poll([{fd=3, events=POLLIN}], 1, 0) = 0 (Timeout)\npoll([{fd=3, events=POLLIN}], 1, 1000) = 0 (Timeout)\nsched_yield() = 0\n", []Call{{Name: "poll", Count: 2, Watched: 2, Empty: 1}, {Name: "sched_yield", Count: 1, Empty: 1}}},
		{"an end of file", "read(3, \"\", 512) = 0\n", []Call{{Name: "read", Count: 1, Sizes: []Size{{0, 1}}, Asked: []Size{{512, 1}}}}},
		{"cut off", "close(3) = 0\nclose(4) =", []Call{{Name: "close", Count: 1}}},
		{"a long line", "close(3) = 0\nwrite(1, \"" + strings.Repeat("x", 2*mostLine) + "\", 5) = 5\nclose(3) = 0\n", []Call{{Name: "close", Count: 2}}},
		{"nothing", "", []Call{}},
		{"signals only", "5 --- SIGURG {si_signo=SIGURG} ---\n5 +++ exited with 0 +++\n", []Call{}},
	}
	for _, test := range tests {
		c, err := readStrace(strings.NewReader(test.lines), false, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if fmt.Sprint(c.ByName) != fmt.Sprint(test.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", test.name, c.ByName, test.want)
		}
	}
}

func TestCallsWithoutADescriptorAreCounted(t *testing.T) {
	c, err := readStrace(strings.NewReader("7 accept4(3, 0x1, [112], SOCK_CLOEXEC) = -1 EMFILE (Too many open files) <0.000010>\n7 accept4(3, 0x1, [112], SOCK_CLOEXEC) = -1 EAGAIN (Resource temporarily unavailable)\n"), true, nil, nil)
	if err != nil || c.NoFiles != 1 || c.ByName[0].Errors != 2 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestWhatIsNotStraceIsAnError(t *testing.T) {
	if c, err := readStrace(strings.NewReader("hello\nworld, (how) are you\n"), false, nil, nil); err == nil {
		t.Errorf("got %+v", c)
	}
	c, err := readStrace(io.MultiReader(strings.NewReader("close(3) = 0\n"), iotest.ErrReader(io.ErrClosedPipe)), false, nil, nil)
	if !errors.Is(err, io.ErrClosedPipe) || c.Total != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

func FuzzStrace(f *testing.F) {
	for _, name := range []string{"strace-net.txt", "strace-go.txt", "strace-plain.txt"} {
		data := recorded(f, name)
		f.Add(data[:1000])
		f.Add(data[len(data)-1000:])
	}
	f.Add([]byte("1 2.5 write(3, \"\\\"\", 7) = 7 <0.1>\n<... x resumed>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := readStrace(bytes.NewReader(data), len(data)%2 == 0, nil, nil)
		if c == nil {
			if err == nil {
				t.Fatal("neither calls nor an error")
			}
			return
		}
		var total int64
		for _, call := range c.ByName {
			if call.Count <= 0 || call.Time < 0 || call.Errors > call.Count || call.Full > call.Count || call.Bytes < 0 ||
				len(call.Sizes) > keptSizes || len(call.Asked) > keptSizes {
				t.Fatalf("%+v", call)
			}
			total += call.Count
		}
		if total != c.Total || c.Took < 0 {
			t.Fatalf("%d calls by name, %d in all, in %v", total, c.Total, c.Took)
		}
	})
}

func TestWaitsForLocksOfTheCLibrary(t *testing.T) {
	c, err := readStrace(strings.NewReader("1 futex(0x5, FUTEX_WAIT_PRIVATE, 2, NULL) = 0 <0.5>\n1 fsync(3) = 0 <0.25>\n2 futex(0x5, FUTEX_WAIT_PRIVATE, 0, NULL) = 0 <0.125>\n2 fsync(3) = 0 <2.0>\n"), false, nil, nil)
	if err != nil || c.LockTime != 500*time.Millisecond || c.LockIO != 250*time.Millisecond || c.Woken != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestPollsSayHowManyTheyAsk(t *testing.T) {
	c, err := readStrace(strings.NewReader(`1 10.0 poll([{fd=3, events=POLLIN}, {fd=4, events=POLLIN}, ...], 1000, -1) = 1 ([{fd=3, revents=POLLIN}]) <0.000010>
1 10.1 select(5, [3 4], NULL, NULL, {tv_sec=1, tv_usec=0}) = 0 (Timeout) <0.000010>
`), false, nil, nil)
	if err != nil || c.ByName[0].Watched != 1000 || c.ByName[1].Watched != 5 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestStepsThatKeepEventsWaiting(t *testing.T) {
	const fetch, read = "7 %.3f epoll_wait(3, [...], 64, -1) = %d <%.6f>\n", "7 %.3f read(5, \"\"..., 64) = 9 <0.000010>\n"
	for name, c := range map[string]struct {
		text string
		want time.Duration
	}{
		"a long step":           {fmt.Sprintf(fetch+read+fetch+fetch, 10.0, 1, 0.01, 10.1, 10.4, 1, 1e-5, 10.41, 2, 1e-5), 300 * time.Millisecond},
		"a call that waits":     {fmt.Sprintf(fetch+"7 10.1 fsync(4) = 0 <0.200000>\n"+fetch, 10.0, 1, 0.01, 10.3, 2, 1e-5), 200 * time.Millisecond},
		"many short steps":      {fmt.Sprintf(fetch+read+read+read+fetch, 10.0, 3, 0.01, 10.02, 10.05, 10.09, 10.13, 9, 1e-5), 0},
		"nothing waited":        {fmt.Sprintf(fetch+read+fetch+fetch, 10.0, 1, 0.01, 10.1, 10.4, 1, 0.01, 10.42, 2, 1e-5), 0},
		"one at a time":         {fmt.Sprintf(fetch+read+fetch+read+fetch, 10.0, 1, 0.01, 10.1, 10.4, 1, 1e-5, 10.5, 10.9, 1, 1e-5), 0},
		"the wait for an event": {fmt.Sprintf(fetch+fetch+fetch, 10.0, 1, 0.01, 10.02, 1, 5.0, 15.03, 2, 1e-5), 0},
	} {
		calls, err := readStrace(strings.NewReader(c.text), false, nil, nil)
		if err != nil || calls.Blocked.Round(time.Millisecond) != c.want {
			t.Errorf("%s: %v in %d turns, %v", name, calls.Blocked, calls.Turns, err)
		}
		if calls, _ = readStrace(strings.NewReader(c.text), true, nil, nil); calls.Turns > 0 {
			t.Errorf("%s, of Go's scheduler: %+v", name, calls)
		}
	}
}

func TestWaitsThatDoNotEndCount(t *testing.T) {
	c, err := readStrace(strings.NewReader("1 1.0 futex(0x5, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>\n2 1.0 futex(0x7, FUTEX_WAIT_PRIVATE, 0, NULL <unfinished ...>\n3 2.5 close(3) = 0 <0.0>\n"), false, nil, nil)
	if err != nil || c.LockTime != 1500*time.Millisecond || c.Parked != 0 || c.Total != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestWaitsOfThreadsForEachOther(t *testing.T) {
	text := "9 1.0 futex(0x5, FUTEX_WAIT_BITSET_PRIVATE, 2, NULL, FUTEX_BITSET_MATCH_ANY) = 0 <0.5>\n" // Rust's
	for range 20 {
		text += "1 1.5 futex(0x5, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 0, NULL, FUTEX_BITSET_MATCH_ANY <unfinished ...>\n" +
			"1 1.6 <... futex resumed>)              = 0 <0.02>\n" +
			"1 1.6 futex(0x5, FUTEX_WAIT_BITSET_PRIVATE, 0, {tv_sec=1, tv_nsec=2}, FUTEX_BITSET_MATCH_ANY) = -1 ETIMEDOUT (Connection timed out) <0.005>\n" +
			"1 1.6 write(1, \"\"..., 9) = 9 <0.001>\n"
	}
	text += "2 2.0 futex(0x9, FUTEX_WAIT_PRIVATE, 0, NULL) = 0 <0.9>\n" // it waits for work
	c, err := readStrace(strings.NewReader(text), false, nil, nil)
	if err != nil || c.LockTime != 500*time.Millisecond || c.Parked.Round(time.Millisecond) != 400*time.Millisecond || c.Timeouts.Round(time.Millisecond) != 100*time.Millisecond ||
		c.ParkedIO.Round(time.Millisecond) != 20*time.Millisecond || c.Woken != 21 {
		t.Errorf("%+v, %v", c, err)
	}
}

// What is done again and again: replies that wait for an acknowledgement, connections, files.
func TestStraceOfWhatIsRepeated(t *testing.T) {
	const text = `1 10.000000 socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_IP) = 4 <0.000010>
1 10.000100 connect(4, {sa_family=AF_INET, sin_port=htons(6379), sin_addr=inet_addr("10.0.0.7")}, 16) = -1 EINPROGRESS (Operation now in progress) <0.000010>
1 10.000200 write(4, ""..., 8) = 8 <0.000010>
1 10.000300 write(4, ""..., 32) = 32 <0.000010>
1 10.000400 read(4,  <unfinished ...>
2 10.020000 read(9, ""..., 64) = 2 <0.000010>
1 10.044300 <... read resumed>""..., 64) = 2 <0.043900>
1 10.050000 write(4, ""..., 8) = 8 <0.000010>
1 10.090000 read(4, ""..., 64) = 2 <0.000010>
1 10.100000 write(4, ""..., 8) = 8 <0.000010>
1 10.100100 write(4, ""..., 1448) = 1448 <0.000010>
1 10.140200 read(4, ""..., 64) = 2 <0.000010>
1 10.200000 write(7, ""..., 8) = 8 <0.000010>
1 10.200100 write(7, ""..., 8) = 8 <0.000010>
1 10.241000 read(7, ""..., 64) = 2 <0.000010>
1 10.300000 setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 4) = 0 <0.000010>
1 10.300100 write(4, ""..., 8) = 8 <0.000010>
1 10.300200 write(4, ""..., 8) = 8 <0.000010>
1 10.341000 read(4, ""..., 64) = 2 <0.000010>
1 10.400000 close(4) = 0 <0.000010>
1 10.400100 socket(AF_INET, SOCK_DGRAM|SOCK_CLOEXEC, IPPROTO_IP) = 4 <0.000010>
1 10.400200 connect(4, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.0.0.1")}, 16) = 0 <0.000010>
1 10.400300 close(4) = 0 <0.000010>
1 10.400400 socket(AF_INET6, SOCK_STREAM, IPPROTO_IP) = 4 <0.000010>
1 10.400500 connect(4, {sa_family=AF_INET6, sin6_port=htons(6379), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "::1", &sin6_addr), sin6_scope_id=0}, 28) = 0 <0.000010>
1 10.400600 close(4) = 0 <0.000010>
1 10.400700 socket(AF_INET6, SOCK_STREAM, IPPROTO_IP) = 4 <0.000010>
1 10.400800 connect(4, {sa_family=AF_INET6, sin6_port=htons(6379), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "::1", &sin6_addr), sin6_scope_id=0}, 28) = 0 <0.000010>
1 10.400900 write(4, ""..., 8) = 8 <0.000010>
1 10.500000 openat(AT_FDCWD, "/etc/x, y", O_RDONLY|O_CLOEXEC) = 5 <0.000010>
1 10.500100 openat(AT_FDCWD, "/etc/x, y", O_RDONLY|O_CLOEXEC) = 5 <0.000010>
1 10.500200 openat(6, "name", O_RDONLY) = 5 <0.000010>
1 10.500300 openat(6, "name", O_RDONLY) = 5 <0.000010>
1 10.500400 openat(6, "name", O_RDONLY) = 5 <0.000010>
1 10.500500 openat(AT_FDCWD, "/lib/libc.so.6", O_RDONLY|O_CLOEXEC) = 5 <0.000010>
1 10.500600 openat(AT_FDCWD, "/none", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) <0.000010>
1 10.500700 newfstatat(AT_FDCWD, "/etc/x, y", {st_mode=S_IFREG|0644, st_size=4, ...}, 0) = 0 <0.000010>
1 10.500800 newfstatat(5, "", {st_mode=S_IFREG|0644, st_size=4, ...}, AT_EMPTY_PATH) = 0 <0.000010>
12 10.500900 execve("/bin/cat", ["cat"], 0x7ffd1 /* 9 vars */) = 0 <0.000010>
12 10.501000 openat(AT_FDCWD, "/etc/x, y", O_RDONLY) = 3 <0.000010>
1 10.600000 write(8, ""..., 1) = 1 <0.000010>
1 10.606000 write(8, ""..., 1) = 1 <0.000010>
1 10.612000 write(8, ""..., 1) = 1 <0.000010>
9 10.620000 read(8, ""..., 64) = 2 <0.000010>
1 10.644000 read(8, ""..., 64) = 2 <0.000010>
1 10.700000 write(8, ""..., 1) = 1 <0.000010>
1 10.743000 write(8, ""..., 1) = 1 <0.000010>
1 10.744000 read(8, ""..., 64) = 2 <0.000010>
`
	c, err := readStrace(strings.NewReader(text), false, map[string]connection{"7": {prompt: true}}, map[string]string{"9": "9:"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Replies != 7 || c.Delayed != 2 || c.DelayedTime.Round(time.Millisecond) != 88*time.Millisecond {
		t.Errorf("%d replies, %d of them %v late", c.Replies, c.Delayed, c.DelayedTime)
	}
	if (c.Dialled != Repeated{"[::1]:6379", 2}) || c.Requests != 1 {
		t.Errorf("%+v with %d writes", c.Dialled, c.Requests)
	}
	if (c.Opened != Repeated{"/etc/x, y", 3}) || c.Opens != 4 || c.Reopened != 2 {
		t.Errorf("%+v of %d, %d again", c.Opened, c.Opens, c.Reopened)
	}
}

// Connections that a program takes are to itself, and what it writes on others does not count with them.
func TestConnectionsThatAreTakenCount(t *testing.T) {
	const text = `1 10.000000 accept4(3, {sa_family=AF_INET, sin_port=htons(5100), sin_addr=inet_addr("10.0.0.9")}, [112 => 16], SOCK_CLOEXEC|SOCK_NONBLOCK) = 5 <0.000010>
1 10.000100 write(5, ""..., 8) = 8 <0.000010>
1 10.000200 close(5) = 0 <0.000010>
1 10.000300 accept(3, NULL, NULL) = 5 <0.000010>
1 10.000400 write(5, ""..., 8) = 8 <0.000010>
1 10.000500 accept4(3, 0xc0001, [112], SOCK_CLOEXEC) = -1 EAGAIN (Resource temporarily unavailable) <0.000010>
1 10.000600 accept4(4, {sa_family=AF_UNIX}, [112 => 2], SOCK_CLOEXEC) = 6 <0.000010>
1 10.000700 write(6, ""..., 8) = 8 <0.000010>
1 10.000800 socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 7 <0.000010>
1 10.000900 connect(7, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("10.0.0.1")}, 16) = 0 <0.000010>
1 10.001000 write(7, ""..., 8) = 8 <0.000010>
`
	c, err := readStrace(strings.NewReader(text), false, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if (c.Dialled != Repeated{"itself", 2}) || c.Requests != 2 {
		t.Errorf("%+v with %d writes", c.Dialled, c.Requests)
	}
}

// A process that begins meanwhile has descriptors of its own, and a thread those of its process, whichever line comes first.
func TestProcessesThatBeginMeanwhileHaveTheirOwnDescriptors(t *testing.T) {
	const text = `1 10.0 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD, child_tidptr=0x7f) = 2 <0.000010>
1 10.1 write(8, ""..., 1) = 1 <0.000010>
2 10.2 write(8, ""..., 1) = 1 <0.000010>
1 10.3 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD, exit_signal=0}, 88 <unfinished ...>
3 10.4 write(8, ""..., 1) = 1 <0.000010>
1 10.5 <... clone3 resumed> => {parent_tid=[3]}, 88) = 3 <0.1>
1 10.6 vfork( <unfinished ...>
4 10.7 write(8, ""..., 1) = 1 <0.000010>
4 10.8 openat(AT_FDCWD, "/etc/x", O_RDONLY) = 5 <0.000010>
1 10.9 <... vfork resumed>) = 4 <0.2>
1 11.0 openat(AT_FDCWD, "/etc/x", O_RDONLY) = 5 <0.000010>
3 11.1 openat(AT_FDCWD, "/etc/x", O_RDONLY) = 5 <0.000010>
`
	c, err := readStrace(strings.NewReader(text), false, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if writes := callOf(t, c, "write"); writes.Count != 4 || writes.Again != 1 || c.Opens != 3 || c.Reopened != 1 {
		t.Errorf("%+v; %d files, %d again", writes, c.Opens, c.Reopened)
	}
}

// Who sleeps between a request and the first of its answer keeps it waiting: over a connection that was accepted, before or
// meanwhile, and not where a client waits before its next request.
func TestSleepsBeforeAnAnswer(t *testing.T) {
	const text = `1 1.0 accept4(3, NULL, NULL, SOCK_CLOEXEC) = 9 <0.000010>
1 1.0 read(9, ""..., 4096) = 40 <0.000010>
1 1.1 clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=0, tv_nsec=3000000}, NULL) = 0 <0.003000>
1 1.2 write(9, ""..., 44) = 44 <0.000010>
1 1.3 read(7, ""..., 4096) = 40 <0.000010>
1 1.4 nanosleep({tv_sec=0, tv_nsec=5000000}, NULL) = 0 <0.005000>
1 1.5 sendto(7, ""..., 44, 0, NULL, 0) = 44 <0.000010>
1 1.5 nanosleep({tv_sec=0, tv_nsec=5000000}, NULL) = 0 <0.005000>
1 1.5 sendto(7, ""..., 44, 0, NULL, 0) = 44 <0.000010>
2 1.3 read(8, ""..., 4096) = 40 <0.000010>
2 1.4 nanosleep({tv_sec=1, tv_nsec=0}, NULL) = 0 <1.000000>
2 2.5 write(8, ""..., 44) = 44 <0.000010>
3 1.3 read(7, ""..., 4096) = 40 <0.000010>
3 1.4 nanosleep({tv_sec=1, tv_nsec=0}, NULL) = 0 <1.000000>
3 2.5 write(1, ""..., 44) = 44 <0.000010>
`
	c, err := readStrace(strings.NewReader(text), false, map[string]connection{"7": {served: true}, "8": {}}, nil)
	if err != nil || c.Sleeps != 2 || c.Slept != 8*time.Millisecond {
		t.Errorf("%+v, %v", c, err)
	}
}

// Requests on connections that stay are told from those for which there is a new one.
func TestAnswersOnConnectionsThatWereAccepted(t *testing.T) {
	const text = `1 1.0 read(7, ""..., 4096) = 40 <0.000010>
1 1.1 write(7, ""..., 44) = 44 <0.000010>
1 1.1 write(7, ""..., 44) = 44 <0.000010>
1 1.2 read(7, ""..., 4096) = 40 <0.000010>
1 1.3 write(7, ""..., 44) = 44 <0.000010>
1 1.4 accept4(3, {sa_family=AF_INET, sin_port=htons(4242), sin_addr=inet_addr("127.0.0.1")}, [128 => 16], SOCK_CLOEXEC) = 9 <0.000010>
1 1.4 accept4(4, {sa_family=AF_UNIX}, [128 => 2], SOCK_CLOEXEC) = 10 <0.000010>
1 1.5 read(9, ""..., 4096) = 40 <0.000010>
1 1.6 write(8, ""..., 44) = 44 <0.000010>
1 1.7 write(9, ""..., 44) = 44 <0.000010>
`
	c, err := readStrace(strings.NewReader(text), false, map[string]connection{"7": {served: true}, "8": {}}, nil)
	if err != nil || c.Accepted != 1 || c.Answers != 3 {
		t.Errorf("%d accepted, %d answers, %v", c.Accepted, c.Answers, err)
	}
}

// An fsync that began behind several requests is one for all of them.
func TestFsyncsThatSeveralRequestsWaitFor(t *testing.T) {
	const text = `1 1.0 read(7, ""..., 4096) = 40 <0.000010>
1 1.0 read(8, ""..., 4096) = 40 <0.000010>
1 1.0 pread64(5, ""..., 4096, 0) = 40 <0.000010>
1 1.1 write(5, ""..., 80) = 80 <0.000010>
1 1.1 fsync(5) = 0 <0.005000>
1 1.2 write(7, ""..., 44) = 44 <0.000010>
1 1.2 write(8, ""..., 44) = 44 <0.000010>
1 1.2 write(8, ""..., 44) = 44 <0.000010>
1 1.3 read(7, ""..., 4096) = 40 <0.000010>
1 1.3 write(7, ""..., 44) = 44 <0.000010>
`
	const threads = `1 1.0 futex(0x5, FUTEX_WAKE_PRIVATE, 2147483647) = 9 <0.000010>
1 1.1 fdatasync(5) = 0 <0.005000>
1 1.1 futex(0x5, FUTEX_WAKE_PRIVATE, 2147483647) = 3 <0.000010>
1 1.1 futex(0x9, FUTEX_WAKE_PRIVATE, 1) = 1 <0.000010>
2 1.1 futex(0x7, FUTEX_WAKE_PRIVATE, 1) = 1 <0.000010>
1 1.2 fdatasync(5) = 0 <0.005000>
1 1.2 futex(0x5, FUTEX_WAKE_PRIVATE, 2147483647) = 4 <0.000010>
`
	for _, c := range []struct {
		text      string
		goProgram bool
		want      int64
	}{{text, false, 2}, {text, true, 2}, {threads, false, 6}, {threads, true, 0}} {
		got, err := readStrace(strings.NewReader(c.text), c.goProgram, map[string]connection{"7": {served: true}, "8": {served: true}}, nil)
		if err != nil || got.Covered != c.want {
			t.Errorf("%d requests, want %d, %v", got.Covered, c.want, err)
		}
	}
}

// A name is asked for from the connect of its socket to its close, of what was there before from the beginning.
func TestNamesThatServersAreAskedFor(t *testing.T) {
	const lookup = `1 2.0 socket(AF_INET, SOCK_DGRAM|SOCK_CLOEXEC|SOCK_NONBLOCK, IPPROTO_IP) = 7 <0.000010>
1 2.0 connect(7, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.0.0.1")}, 16) = 0 <0.000010>
1 2.0 poll([{fd=7, events=POLLIN}], 1, 5000) = 1 ([{fd=7, revents=POLLIN}]) <1.000000>
`
	for _, c := range []struct {
		text  string
		known map[string]connection
		want  float64
	}{
		{"1 1.0 read(3, \"\"..., 1) = 1 <0.000010>\n" + lookup + "1 3.0 close(7) = 0 <0.000000>\n1 5.0 read(3, \"\"..., 1) = 1 <0.000010>\n", nil, 0.25},
		{"1 1.0 read(3, \"\"..., 1) = 1 <0.000010>\n" + lookup + "2 5.0 read(3, \"\"..., 1) = 1 <0.000010>\n", nil, 0.75},
		{"1 1.0 close(7) = 0 <2.000000>\n2 5.0 read(3, \"\"..., 1) = 1 <0.000010>\n", map[string]connection{"7": {asks: 1e-9}}, 0.5},
		{"1 1.0 restart_syscall(<... resuming interrupted poll ...> <unfinished ...>\n", map[string]connection{"7": {asks: 1e-9}, "8": {}}, 1},
		{"1 1.0 connect(7, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"10.0.0.1\")}, 16) = 0 <0.000010>\n2 5.0 close(7) = 0 <0.000010>\n", nil, 0},
	} {
		got, err := readStrace(strings.NewReader(c.text), false, c.known, nil)
		if err != nil || math.Abs(got.Asking-c.want) > 1e-3 {
			t.Errorf("%f at a time, want %f, %v:\n%s", got.Asking, c.want, err, c.text)
		}
	}
}

func TestConnectionsThatCannotBeMade(t *testing.T) {
	const text = `1 1.0 socket(AF_INET, SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_IP) = 7 <0.000010>
1 1.0 connect(7, {sa_family=AF_INET, sin_port=htons(81), sin_addr=inet_addr("10.0.0.1")}, 16) = -1 EINPROGRESS (Operation now in progress) <0.000010>
1 1.1 getsockopt(7, SOL_SOCKET, SO_ERROR, [ECONNREFUSED], [4]) = 0 <0.000010>
1 1.2 socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 7 <0.000010>
1 1.2 connect(7, {sa_family=AF_INET, sin_port=htons(81), sin_addr=inet_addr("10.0.0.1")}, 16) = -1 ECONNREFUSED (Connection refused) <0.000010>
1 1.3 socket(AF_INET, SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_IP) = 7 <0.000010>
1 1.3 connect(7, {sa_family=AF_INET, sin_port=htons(82), sin_addr=inet_addr("10.0.0.1")}, 16) = -1 EINPROGRESS (Operation now in progress) <0.000010>
1 1.4 getsockopt(7, SOL_SOCKET, SO_ERROR, [0], [4]) = 0 <0.000010>
`
	c, err := readStrace(strings.NewReader(text), false, nil, nil)
	if want := (Repeated{"10.0.0.1:81", 2}); err != nil || c.Refused != want || c.Dialled != (Repeated{"10.0.0.1:82", 1}) {
		t.Errorf("%+v, %v", c, err)
	}
}

// What is known of a process's descriptors before its calls are.
func TestConnectionsThatWereThereBefore(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	far, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	near, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	names, err := net.Dial("udp", "127.0.0.1:53") // nothing is sent
	if err != nil {
		t.Fatal(err)
	}
	defer names.Close()
	known := connectionsOf([]int{os.Getpid()}, func(int) string { return "me:" })
	if len(known) == 0 {
		t.Skip("the descriptors of a process cannot be looked at here")
	}
	for conn, served := range map[net.Conn]bool{near: true, far: false, names: false} {
		raw, err := conn.(syscall.Conn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		err = raw.Control(func(fd uintptr) {
			if got := known[fmt.Sprint("me:", fd)]; got.served != served || !got.prompt || got.wakes || got.asks != 0 {
				t.Errorf("accepted %v: %+v", served, got)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A read of a file is not one more of what had its descriptor before.
func TestReadsOfFilesThatAreOpenedAgain(t *testing.T) {
	const once = `1 1.0 openat(AT_FDCWD, "/etc/hostname", O_RDONLY) = 7 <0.000010>
1 1.0 read(7, ""..., 100) = 12 <0.000010>
1 1.0 close(7) = 0 <0.000010>
`
	inTwo := strings.Replace(once, "close(7) = 0", "close(7 <unfinished ...>\n1 1.0 <... close resumed>) = 0", 1)
	for _, text := range []string{once, inTwo} {
		c, err := readStrace(strings.NewReader(strings.Repeat(text, 20)), false, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range c.ByName {
			if call.Again > 0 {
				t.Errorf("%s: %+v", text, call)
			}
		}
	}
}
