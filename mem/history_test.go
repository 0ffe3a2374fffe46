package mem_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// A history is a list of steps on Bufs, Memories, slabs and slices, drawn at
// random and known before it runs: which holders each step uses and makes, and
// which bytes every holder must see. It runs in one goroutine, where a plain
// model says what the allocator's figures must be after each step, or in
// several, where holders of one block really race.
type history struct {
	steps   []step
	holders []holder
	workers int
}

// A holder is a Buf or a Memory from its making to its end. It belongs to one
// worker; a worker that makes it for another hands it over.
type holder struct {
	worker int
	memory bool
	segs   []seg
}

// A seg is n bytes from off of the endless pattern that tag stands for.
type seg struct{ tag, off, n int }

type kind int

const (
	get kind = iota
	tryGet
	wrap
	retain
	slice
	share
	compact
	gather
	read
	release
	fill
	park
	malloc
	free
	stale
	numKinds
)

var kindNames = [numKinds]string{"get", "tryGet", "wrap", "retain", "slice", "share", "compact", "gather", "read",
	"release", "fill", "park", "malloc", "free", "stale"}

// weights make holders about as often as they end them.
var weights = [numKinds]int{get: 8, tryGet: 8, wrap: 2, retain: 10, slice: 12, share: 4, compact: 6, gather: 5, read: 6,
	release: 44, fill: 12, park: 3, malloc: 3, free: 3, stale: 4}

type step struct {
	kind   kind
	worker int
	from   []int // holders that are used; gather and release end them
	to     []int // holders that are made
	i, j   int   // sizes, bounds
}

func (s step) String() string {
	return fmt.Sprintf("%s by %d: %d -> %d, %d, %d", kindNames[s.kind], s.worker, s.from, s.to, s.i, s.j)
}

func size(segs []seg) (n int) {
	for _, s := range segs {
		n += s.n
	}
	return n
}

func sub(segs []seg, i, j int) (out []seg) {
	for _, s := range segs {
		from, to := min(i, s.n), min(j, s.n)
		if from < to {
			out = append(out, seg{s.tag, s.off + from, to - from})
		}
		i, j = max(i-s.n, 0), max(j-s.n, 0)
	}
	return out
}

// pattern is byte i of the contents that tag stands for.
func pattern(tag, i int) byte { return byte(tag*31 + i*7 + i>>8) }

// draw makes a history. Its last steps end all holders.
func draw(rnd *rand.Rand, workers, length int) *history {
	h := &history{workers: workers}
	live := make([][]int, workers) // by owner
	total, slices := 0, make([]int, workers)
	make1 := func(memory bool, segs []seg) int {
		id, w := len(h.holders), rnd.IntN(workers)
		h.holders = append(h.holders, holder{w, memory, segs})
		live[w] = append(live[w], id)
		total++
		return id
	}
	pick := func(w int) int { return live[w][rnd.IntN(len(live[w]))] }
	end := func(w int) int {
		i := rnd.IntN(len(live[w]))
		id := live[w][i]
		live[w][i] = live[w][len(live[w])-1]
		live[w] = live[w][:len(live[w])-1]
		total--
		return id
	}
	length1 := func() int { // many small, some large
		return rnd.IntN(1 << (2 + rnd.IntN(15)))
	}
	sum := 0
	for _, w := range weights {
		sum += w
	}
	for len(h.steps) < length || total > 0 {
		w := rnd.IntN(workers)
		k, x := kind(0), rnd.IntN(sum)
		for x >= weights[k] {
			x -= weights[k]
			k++
		}
		if len(h.steps) >= length {
			k = release
		}
		s := step{kind: k, worker: w}
		tag := len(h.steps)
		switch k {
		case get, tryGet, wrap:
			s.i = length1()
			s.to = []int{make1(false, []seg{{tag, 0, s.i}})}
		case fill:
			s.i = rnd.IntN(700)
			s.to = []int{make1(false, []seg{{tag, 0, s.i}})}
		case malloc:
			s.i = length1()
			slices[w]++
		case free:
			if slices[w] == 0 {
				continue
			}
			slices[w]--
		case park:
		default:
			if len(live[w]) == 0 {
				continue
			}
			id := pick(w)
			x := h.holders[id]
			s.from = []int{id}
			switch k {
			case retain:
				s.to = []int{make1(x.memory, x.segs)}
			case slice, read:
				s.j = rnd.IntN(size(x.segs) + 1)
				s.i = rnd.IntN(s.j + 1)
				if k == slice {
					segs := sub(x.segs, s.i, s.j)
					if !x.memory {
						segs = []seg{{x.segs[0].tag, x.segs[0].off + s.i, s.j - s.i}}
					}
					s.to = []int{make1(x.memory, segs)}
				}
			case share:
				if x.memory {
					continue
				}
				for range rnd.IntN(4) {
					s.to = append(s.to, make1(false, x.segs))
				}
			case gather:
				s.from = nil
				var segs []seg
				for range 1 + rnd.IntN(4) {
					if len(live[w]) == 0 {
						break
					}
					id := end(w)
					if h.holders[id].memory { // back to where it was
						live[w] = append(live[w], id)
						total++
						continue
					}
					s.from = append(s.from, id)
					segs = append(segs, h.holders[id].segs...)
				}
				s.to = []int{make1(true, segs)}
			case release, stale:
				s.from[0] = end(w)
			case compact:
				if x.memory {
					continue
				}
			}
		}
		h.steps = append(h.steps, s)
	}
	return h
}

// configurations are those that a history must look the same under.
func configurations() (all []mem.Options) {
	for _, level := range leakLevels {
		for _, budget := range []int64{0, 256 << 10} {
			all = append(all, mem.Options{Name: fmt.Sprintf("level %v, budget %d", level, budget), Leak: level, Budget: budget})
		}
	}
	return all
}

func TestHistoriesAgreeUnderEveryConfiguration(t *testing.T) {
	rnd := rand.New(rand.NewPCG(sluicetest.Seed(t), 4))
	histories := 5
	if sys.Race {
		histories = 1
	}
	for range histories {
		h := draw(rnd, 1, 2500)
		var first []string
		for _, o := range configurations() {
			r := newRun(t, h, mem.New(o))
			r.model = newModel(r.alloc, o.Budget)
			r.work(0)
			r.settled()
			if t.Failed() {
				return
			}
			if first == nil {
				first = r.transcript
			}
			for i := range first {
				if r.transcript[i] != first[i] {
					t.Fatalf("%s: step %d comes to %q, without checks and budget to %q", o.Name, i, r.transcript[i], first[i])
				}
			}
		}
	}
}

func TestHoldersOfOneBlockRace(t *testing.T) {
	rnd := rand.New(rand.NewPCG(sluicetest.Seed(t), 5))
	length := 3000
	if sys.Race {
		length = 800
	}
	for _, workers := range []int{2, 8} {
		for range 3 {
			h := draw(rnd, workers, length)
			for _, o := range configurations() {
				r := newRun(t, h, mem.New(o))
				r.race()
				r.settled()
				if t.Failed() {
					return
				}
			}
		}
	}
}
