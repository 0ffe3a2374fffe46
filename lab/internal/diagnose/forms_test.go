package diagnose

import (
	"bufio"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/lab"
)

// Each fault in another form than in package planted: other calls, other kinds
// of socket, other ways to lock.

// form is a runner made of functions.
type form struct {
	run   func(ops int) error
	close func() error
	bytes int64 // of an operation
}

func (f *form) Run(ops int) (lab.Sample, error) {
	return lab.Sample{Bytes: f.bytes * int64(ops), Check: 1}, f.run(ops)
}

func (f *form) Close() error {
	if f.close == nil {
		return nil
	}
	return f.close()
}

var otherFaults = []struct {
	name, rule, place string
	ops               int
	open              func(lab.Env) (lab.Runner, error)
}{
	{"a logger on a file", "small-writes", "openLogger", 2000, openLogger},
	{"a string for each word", "allocations", "openWords", 200, openWords},
	{"an array of plain counters", "shared-line", "add", 50_000, openCounters},
	{"an RWMutex over fsync", "lock-over-io", "save", 8, openJournal},
	{"a channel as a lock", "lock-over-io", "ask", 40, openAsking},
	{"a bufio.Reader as it comes", "small-buffer", "openDefaultReader", 1000, openDefaultReader},
	{"JSON events flushed through flate", "flush-per-write", "openEvents", 1000, openEvents},
}

func otherForms() []lab.Scenario {
	var all []lab.Scenario
	for _, f := range otherFaults {
		all = append(all, lab.Scenario{
			Name: "form/" + f.name, Title: f.name, Op: "op", Metric: lab.NsPerOp, Baseline: "only", Ops: f.ops,
			Variants: []lab.Variant{{Name: "only", About: f.name, Open: f.open}},
		})
	}
	return all
}

func TestFaultsInOtherFormsAreNamedFirstByRealTools(t *testing.T) {
	if testing.Short() {
		t.Skip("the planted ones will do")
	}
	for _, f := range otherFaults {
		t.Run(f.name, func(t *testing.T) {
			if f.name == "an RWMutex over fsync" && syncTakes(t) < 50*time.Microsecond {
				t.Skip("fsync takes no time here: the temporary directory is in memory")
			}
			// The workloads of package planted use more tools, which takes longer.
			tools := []string{evidence.ToolCPU, evidence.ToolTrace, evidence.ToolStrace}
			if f.rule == "shared-line" {
				tools[2] = evidence.ToolScaling
			}
			namedFirst(t, "form/"+f.name, "only", f.rule, f.place, tools)
		})
	}
}

// syncTakes is how long an fsync takes here, the shortest of a few.
func syncTakes(t *testing.T) time.Duration {
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	least := time.Hour
	for range 3 {
		at := time.Now()
		if _, err := file.WriteAt(make([]byte, 4096), 0); err != nil {
			t.Fatal(err)
		}
		if err := file.Sync(); err != nil {
			t.Fatal(err)
		}
		least = min(least, time.Since(at))
	}
	return least
}

// openLogger logs to a file.
func openLogger(env lab.Env) (lab.Runner, error) {
	file, err := os.Create(filepath.Join(env.Dir, "log"))
	if err != nil {
		return nil, err
	}
	l := log.New(file, "app ", 0)
	return &form{bytes: 24, close: file.Close, run: func(ops int) error {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		for i := range ops {
			l.Print("request ", i, " done")
		}
		return nil
	}}, nil
}

// openWords makes a string of each word of a text.
func openWords(lab.Env) (lab.Runner, error) {
	text := []byte(strings.Repeat("some words that nobody will ever read again and a few more ", 20))
	seen := 0
	return &form{bytes: int64(len(text)), run: func(ops int) error {
		for range ops {
			for _, word := range strings.Fields(string(text)) {
				key := strings.ToUpper(word)
				seen += len(key)
			}
		}
		return nil
	}}, nil
}

// hits are plain counters of four workers, beside what all of them read.
type hits struct {
	odd  uint64 // what an odd one counts
	even uint64
	of   [4]uint64
}

// add counts what worker w has seen.
func (h *hits) add(w, n int) {
	for i := range n {
		if i%2 == 0 {
			h.of[w] += h.even
		} else {
			h.of[w] += h.odd
		}
	}
}

func openCounters(lab.Env) (lab.Runner, error) {
	h := &hits{odd: 1, even: 2}
	return &form{bytes: 1, run: func(ops int) error {
		var all sync.WaitGroup
		for w := range h.of {
			all.Go(func() { h.add(w, ops) })
		}
		all.Wait()
		return nil
	}}, nil
}

// A journal is written to the disk under its lock.
type journal struct {
	mu   sync.RWMutex
	file *os.File
	n    int
}

func (j *journal) save(p []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.file.WriteAt(p, 0); err != nil {
		return err
	}
	j.n++
	return j.file.Sync()
}

func openJournal(env lab.Env) (lab.Runner, error) {
	file, err := os.Create(filepath.Join(env.Dir, "journal"))
	if err != nil {
		return nil, err
	}
	j := &journal{file: file}
	record := make([]byte, 4096)
	return &form{bytes: int64(len(record)), close: file.Close, run: func(ops int) error {
		return together(8, ops, func(int) error { return j.save(record) })
	}}, nil
}

// together has n goroutines do ops in all.
func together(n, ops int, do func(worker int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for w := range n {
		all.Go(func() {
			for range max(1, ops/n) {
				if errs[w] = do(w); errs[w] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// unixPair returns the two ends of a Unix socket. Its path may not be long, as
// that of the environment's directory is.
func unixPair() (near, far net.Conn, err error) {
	dir, err := os.MkdirTemp("", "sluice-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	if near, err = net.Dial("unix", l.Addr().String()); err != nil {
		return nil, nil, err
	}
	far, err = l.Accept()
	return near, far, err
}

// A phone is a connection on which one at a time may ask.
type phone struct {
	turn chan struct{}
	conn net.Conn
}

func (p *phone) ask() error {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	question := make([]byte, 600)
	if _, err := p.conn.Write(question); err != nil {
		return err
	}
	_, err := io.ReadFull(p.conn, question)
	return err
}

func openAsking(lab.Env) (lab.Runner, error) {
	near, far, err := unixPair()
	if err != nil {
		return nil, err
	}
	p := &phone{turn: make(chan struct{}, 1), conn: near}
	var gone sync.WaitGroup
	gone.Go(func() {
		think := time.NewTicker(time.Millisecond)
		defer think.Stop()
		buf := make([]byte, 600)
		for {
			if _, err := io.ReadFull(far, buf); err != nil {
				return
			}
			<-think.C
			if _, err := far.Write(buf); err != nil {
				return
			}
		}
	})
	return &form{
		bytes: 1200,
		run:   func(ops int) error { return together(6, ops, func(int) error { return p.ask() }) },
		close: func() error {
			err := errors.Join(near.Close(), far.Close())
			gone.Wait()
			return err
		},
	}, nil
}

// openDefaultReader reads frames of 500 bytes with a bufio.Reader of default size,
// from a peer that sends as fast as it can.
func openDefaultReader(lab.Env) (lab.Runner, error) {
	near, far, err := unixPair()
	if err != nil {
		return nil, err
	}
	const frame = 500
	r := bufio.NewReader(near)
	var gone sync.WaitGroup
	gone.Go(func() {
		piece := make([]byte, 400*frame)
		for {
			if _, err := far.Write(piece); err != nil {
				return
			}
		}
	})
	sum := uint64(0)
	return &form{
		bytes: frame,
		run: func(ops int) error {
			for range ops {
				p, err := r.Peek(frame)
				if err != nil {
					return err
				}
				sum += binary.LittleEndian.Uint64(p)
				if _, err := r.Discard(frame); err != nil {
					return err
				}
			}
			return nil
		},
		close: func() error {
			err := errors.Join(near.Close(), far.Close())
			gone.Wait()
			return err
		},
	}, nil
}

// openEvents sends events as JSON through a compressor, each at once.
func openEvents(lab.Env) (lab.Runner, error) {
	near, far, err := unixPair()
	if err != nil {
		return nil, err
	}
	var gone sync.WaitGroup
	gone.Go(func() { io.Copy(io.Discard, far) })
	z, err := flate.NewWriter(near, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	enc := json.NewEncoder(z)
	type event struct {
		Name string
		N    int
		Text string
	}
	return &form{
		bytes: 100,
		run: func(ops int) error {
			for i := range ops {
				e := event{"joined", i, fmt.Sprintf("viewer %d of room %d has joined the live stream", i*31%1000, i%7)}
				if err := enc.Encode(e); err != nil {
					return err
				}
				if err := z.Flush(); err != nil {
					return err
				}
			}
			return nil
		},
		close: func() error {
			err := errors.Join(near.Close(), far.Close())
			gone.Wait()
			return err
		},
	}, nil
}
