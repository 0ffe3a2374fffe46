package echobench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/proc"
)

// drainTime is how long a server may take to notice that its clients are gone.
const drainTime = 20 * time.Second

// commands are what a process does when it is asked: by a word, with so many numbers
// behind it, as in "closed 1".
type commands map[string]func(n []int) (any, error)

func (c commands) answer(in io.Reader, out io.Writer) error {
	answers := json.NewEncoder(out)
	asked := bufio.NewScanner(in)
	for asked.Scan() {
		var numbers []int
		words := strings.Fields(asked.Text() + " ?")
		for _, word := range words[1:max(1, len(words)-1)] {
			n, err := strconv.Atoi(word)
			if err != nil || n < 0 {
				return fmt.Errorf("echo: %.40q is no number of what to do", word)
			}
			numbers = append(numbers, n)
		}
		do := c[fmt.Sprint(words[0], " ", len(numbers))]
		if do == nil {
			return fmt.Errorf("echo: the process was asked %.40q", asked.Text())
		}
		r, err := do(numbers)
		if err == nil {
			err = answers.Encode(r)
		}
		if err != nil {
			return err
		}
	}
	return asked.Err()
}

// HostServer is a server's process: it listens, says its address on out in a
// line, and then answers the lines of in, each with one line of JSON:
//
//	usage   a proc.Usage
//	drain   true, when there is no connection any more
//	rss     the resident bytes of the process, when it has given back what it does not need
//	live    the bytes in live objects and stacks
//
// It returns when in ends, or with what went wrong.
func HostServer(s Server, size int, in io.Reader, out io.Writer) error {
	if err := checkSize(size); err != nil {
		return err
	}
	runtime.GOMAXPROCS(1) // it has one processor
	l, err := Listen(size)
	if err != nil {
		return err
	}
	defer l.Close()
	if _, err := fmt.Fprintln(out, l.Addr()); err != nil {
		return err
	}
	var m proc.Meter
	counter := new(ConnCounter)
	ended := make(chan error, 2)
	go func() { ended <- s.Serve(l, size, counter) }()
	go func() {
		ended <- commands{
			"usage 0": func([]int) (any, error) { return m.Read(), nil },
			"drain 0": func([]int) (any, error) { return true, counter.Drained(drainTime) },
			"rss 0": func([]int) (any, error) {
				debug.FreeOSMemory()
				debug.FreeOSMemory() // what finalizers and pools let go of in between
				return proc.Resident(0)
			},
			"live 0": func([]int) (any, error) { return settled(int(counter.Load())), nil },
		}.answer(in, out)
	}()
	return <-ended
}

// HostClient is a client's process: it answers the lines of in, each with a
// Result as JSON in one line of out:
//
//	connect N               Client.Connect
//	closed OPS              Client.Closed
//	paced OPS NANOSECONDS   Client.Paced
//	hangup                  Client.HangUp, and an empty Result
//
// It speaks TLS if secure is set. It returns when in ends, or with what went wrong.
func HostClient(server string, size int, seed uint64, secure bool, in io.Reader, out io.Writer) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if secure {
		runtime.GOMAXPROCS(2) // the loop, and the goroutines that encrypt
	}
	c, err := NewClient(server, size, seed, secure)
	if err != nil {
		return err
	}
	defer c.Close()
	return commands{
		"connect 1": func(n []int) (any, error) { return c.Connect(n[0]) },
		"closed 1":  func(n []int) (any, error) { return c.Closed(n[0]) },
		"paced 2":   func(n []int) (any, error) { return c.Paced(n[0], time.Duration(n[1])) },
		"hangup 0":  func([]int) (any, error) { c.HangUp(); return Result{}, nil },
	}.answer(in, out)
}

// settled returns the bytes in live objects and in stacks after collections, which also
// empty all pools, once hardly a goroutine is on its way from an answer to its next
// wait, where it may hold a buffer, and two readings differ by less than one byte for
// each of n connections. After 100 readings it takes the last.
func settled(n int) (now int64) {
	var m runtime.MemStats
	for i, last := 0, int64(math.MinInt64); i < 100; i, last = i+1, now {
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		now = int64(m.HeapAlloc + m.StackInuse)
		if i > 0 && underWay() <= mostLoops && max(now-last, last-now) < int64(max(n, 1)) {
			break
		}
	}
	return now
}

// mostLoops is how many goroutines a server may have that sit in a system call while
// all its connections wait: its event loops.
const mostLoops = 4

func underWay() (n uint64) {
	read := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}, {Name: "/sched/goroutines/not-in-go:goroutines"}}
	metrics.Read(read)
	for _, s := range read {
		if s.Value.Kind() == metrics.KindUint64 {
			n += s.Value.Uint64()
		}
	}
	return n
}
