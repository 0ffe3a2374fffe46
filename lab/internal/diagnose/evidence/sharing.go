package evidence

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/arch/x86/x86asm"

	"github.com/sluice-go/sluice/lab/internal/proc"
)

// Memory that several processors write shows in where threads stand when they are
// sampled with their registers: at instructions that write, behind each other in time, to one
// cache line. Nothing of the program is changed or stopped for it.

const (
	// lineSize is a cache line of the processors that can be decoded.
	lineSize = 64
	// sharingRate is how many samples there are a second of each processor.
	sharingRate = 3989
	// together is how close in time samples of two threads have to be to count as
	// running in parallel: some of their samples.
	together = 2 * time.Millisecond
	// oneAfterTheOther is how many samples that time has at most, and some more, when one thread
	// runs at a time, as those do that wait for a lock.
	oneAfterTheOther = int(together * sharingRate * 4 / 3 / time.Second)
	// behind is how many instructions before the sampled one may have been what it waited for.
	behind       = 3
	mostSamples  = 1 << 20
	longFunction = 64 << 10
	sharingFor   = time.Second
	registers    = "AX,BX,CX,DX,SI,DI,BP,SP,IP,R8,R9,R10,R11,R12,R13,R14,R15"
)

// fewProcessors is how many processors a program must use before they can get in each other's way.
const fewProcessors = 1.2

// usesSeveral reports whether a program uses several processors at a time: by its goroutines that ran where those were
// seen, else by how long its threads ran, or waited for a processor. Of a Go program the threads say too much where
// others have the processors: the runtime gives the work of one that waits to the next, and both wait then.
func usesSeveral(w *Waits, wanted, took time.Duration) bool {
	if w != nil {
		return w.Running >= fewProcessors
	}
	return wanted.Seconds() >= fewProcessors*took.Seconds()
}

// sharingOf looks at the process pid for as long as each, and returns nothing shared when neither then nor in e it
// used several processors: it may have begun its work since. It writes into dir.
func sharingOf(ctx context.Context, pid int, dir string, each time.Duration, e *Evidence) (*Sharing, string, error) {
	if runtime.GOARCH != "amd64" {
		return nil, "", missing("instructions of %s are not decoded", runtime.GOARCH)
	}
	each = min(each, sharingFor)
	data := filepath.Join(dir, "sharing.data")
	var looking sync.WaitGroup
	var waits *Waits
	if e.Go != "" {
		looking.Go(func() { waits, _ = sampleGoroutines(ctx, pid, each) }) // nil where they cannot be read
	}
	before, unread := proc.Read(pid)
	began := time.Now()
	err := perfRecord(ctx, pid, data, each, "-e", "cpu-clock:u", "-F", strconv.Itoa(sharingRate), "--user-regs="+registers)
	after, ended := proc.Read(pid)
	took := time.Since(began)
	looking.Wait()
	if err != nil {
		return nil, "", err
	}
	if spent := before.To(after); unread == nil && ended == nil && spent.Queued != nil && e.Saw(ToolProc) &&
		!usesSeveral(waits, spent.CPU+*spent.Queued, took) && !usesSeveral(e.Waits, e.CPUTime+e.Queued, e.Took) {
		return &Sharing{}, "not needed: the program does not use two processors at a time", nil
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return nil, "", missing("the memory of the process cannot be read: %v", err)
	}
	defer mem.Close()
	var samples []sample
	names := goNames(pid)
	err = perfScript(ctx, data, []string{"-F", "tid,time,ip,sym,symoff,dso,uregs"}, func(out io.Reader) (err error) {
		samples, err = readSamples(out, names)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return (&decoder{mem: mem, known: map[uint64][]access{}}).share(samples), "", nil
}

type sample struct {
	thread int
	at     time.Duration
	begin  uint64 // of the function
	ip     uint64
	where  Frame
	regs   map[string]uint64
}

// readSamples reads what perf script -F tid,time,ip,sym,symoff,dso,uregs writes:
//
//	25149 24031.020194:  5631954b2090 main+0x40 (/srv/counter) ABI:2 AX:0x2b BX:0x7ffc4bf431f8 ...
func readSamples(r io.Reader, names *goFunctions) ([]sample, error) {
	var list []sample
	_, err := eachLine(r, "perf script", maxPerfScript, func(line string) {
		head, tail, ok := strings.Cut(line, " ABI:")
		words := strings.Fields(head)
		if !ok || len(words) < 4 || len(list) >= mostSamples {
			return
		}
		thread, err1 := strconv.Atoi(words[0])
		at, err2 := strconv.ParseFloat(strings.TrimSuffix(words[1], ":"), 64)
		frame, ip, begin, known := perfFrame(strings.Join(words[2:], " "))
		if names != nil && strings.Contains(head, "("+names.path) {
			if f := names.frame(ip); f.Func != "" {
				frame = f // without stacks, addresses are those in memory
			}
		}
		begin = cmp.Or(names.entry(ip), begin)
		if err1 != nil || err2 != nil || !known || !frame.Own() || ip-begin > longFunction {
			return
		}
		s := sample{thread: thread, at: time.Duration(at * float64(time.Second)), begin: begin, ip: ip}
		s.where, s.regs = frame, map[string]uint64{}
		for word := range strings.FieldsSeq(tail) {
			if name, value, ok := strings.Cut(word, ":0x"); ok {
				s.regs[name], _ = strconv.ParseUint(value, 16, 64) // what is no number is 0, and no address
			}
		}
		list = append(list, s)
	})
	return list, err
}

type access struct {
	mem   x86asm.Mem
	next  uint64 // the instruction behind it, from which RIP counts
	write bool
}

type decoder struct {
	mem   io.ReaderAt
	known map[uint64][]access // by sampled address
}

// accesses are the operands of the instruction at ip and of those just before it.
func (d *decoder) accesses(begin, ip uint64) []access {
	if list, known := d.known[ip]; known {
		return list
	}
	code := make([]byte, ip-begin+16)
	n, _ := d.mem.ReadAt(code, int64(begin))
	code = code[:n]
	var last []access
	var perInst []int
	for pc := begin; pc <= ip && pc-begin < uint64(len(code)); {
		inst, err := x86asm.Decode(code[pc-begin:], 64)
		if err != nil || inst.Len == 0 {
			last, perInst = nil, nil // data between the code, or an instruction of a newer processor
			pc++
			continue
		}
		pc += uint64(inst.Len)
		before := len(last)
		for i, arg := range inst.Args {
			m, ok := arg.(x86asm.Mem)
			if !ok || inst.Op == x86asm.LEA || inst.Op == x86asm.NOP || m.Segment != 0 || m.Base == x86asm.RSP || m.Base == x86asm.RBP {
				continue
			}
			reads := inst.Op == x86asm.CMP || inst.Op == x86asm.TEST
			last = append(last, access{m, pc, i == 0 && !reads})
		}
		perInst = append(perInst, len(last)-before)
	}
	keep := 0
	for _, n := range perInst[max(0, len(perInst)-1-behind):] {
		keep += n
	}
	list := last[len(last)-keep:]
	d.known[ip] = list
	return list
}

func (a access) address(regs map[string]uint64) (uint64, bool) {
	register := func(r x86asm.Reg) (uint64, bool) {
		if r == 0 {
			return 0, true
		}
		if r == x86asm.RIP {
			return a.next, true
		}
		name := r.String()
		if len(name) == 3 && name[0] == 'R' && (name[1] < '0' || name[1] > '9') {
			name = name[1:]
		}
		v, ok := regs[name]
		return v, ok
	}
	base, ok1 := register(a.mem.Base)
	index, ok2 := register(a.mem.Index)
	at := base + index*uint64(a.mem.Scale) + uint64(a.mem.Disp)
	return at, ok1 && ok2 && at > 1<<16
}

// share finds samples of several threads at one line at the same time.
func (d *decoder) share(samples []sample) *Sharing {
	slices.SortStableFunc(samples, func(a, b sample) int { return cmp.Compare(a.at, b.at) })
	out := &Sharing{Samples: len(samples)}
	type line struct {
		threads map[int]bool // whether it writes
		samples map[int]bool // by index
	}
	hits, users, where := map[uint64]int{}, map[uint64]map[int]bool{}, map[Frame]int{}
	shared, parallel := 0, 0
	for from, to := 0, 0; from < len(samples); from = to {
		threads, lines := map[int]bool{}, map[uint64]*line{}
		for ; to < len(samples) && samples[to].at < samples[from].at+together; to++ {
			s := &samples[to]
			threads[s.thread] = true
			for _, a := range d.accesses(s.begin, s.ip) {
				at, ok := a.address(s.regs)
				if !ok {
					continue
				}
				l := lines[at/lineSize]
				if l == nil {
					l = &line{map[int]bool{}, map[int]bool{}}
					lines[at/lineSize] = l
				}
				l.threads[s.thread] = l.threads[s.thread] || a.write
				l.samples[to] = true
			}
		}
		if len(threads) < 2 || to-from <= oneAfterTheOther {
			continue
		}
		parallel += to - from
		counted := map[int]bool{}
		for at, l := range lines {
			if len(l.threads) < 2 || !slices.Contains(slices.Collect(maps.Values(l.threads)), true) {
				continue
			}
			hits[at] += len(l.samples)
			if users[at] == nil {
				users[at] = map[int]bool{}
			}
			maps.Copy(users[at], l.threads)
			maps.Copy(counted, l.samples)
		}
		shared += len(counted)
		for i := range counted {
			where[samples[i].where]++
		}
	}
	out.Parallel = float64(parallel) / float64(max(1, len(samples)))
	out.Shared = float64(shared) / float64(max(1, len(samples)))
	if len(hits) > 0 {
		at := slices.MaxFunc(slices.Sorted(maps.Keys(hits)), func(a, b uint64) int { return cmp.Compare(hits[a], hits[b]) })
		out.Line, out.Threads = fmt.Sprintf("%#x", at*lineSize), len(users[at])
		top := slices.MaxFunc(slices.Collect(maps.Keys(where)), func(a, b Frame) int {
			return cmp.Or(cmp.Compare(where[a], where[b]), cmp.Compare(b.Func, a.Func))
		})
		out.Where = &top
	}
	return out
}
