package mem_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// budgetModel is the simplest model of what a budget has to do. Its time is the
// bubble's.
type budgetModel struct {
	limit   int64
	out     int64 // capacity that is out
	idle    int64
	waiting []*modelWaiter
	served  []*modelWaiter // since they were last looked at

	front    *modelWaiter // the first, and since when
	frontAt  time.Time
	overOut  bool
	overBase int64
	overAt   time.Time
	overs    int // overdrafts so far
}

type modelWaiter struct {
	id         int
	size, held int64
	keeps      []*modelBlock // what it holds while it waits
	stop       chan error
	cancel     context.CancelCauseFunc
}

type modelBlock struct {
	slab  mem.Slab
	buf   mem.Buf
	size  int64
	byGet bool
	idle  bool // given to Idle
}

func (b *modelBlock) release() {
	if b.slab.Valid() {
		b.slab.Release()
	} else {
		b.buf.Release()
	}
}

// settle does all that can be done at this moment.
func (m *budgetModel) settle() {
	for {
		if m.out <= m.overBase {
			m.overOut = false
		}
		if len(m.waiting) == 0 {
			return
		}
		k, w := 0, m.waiting[0]
		if w != m.front {
			m.front, m.frontAt = w, time.Now()
		}
		held, most := m.idle, 0
		for i, x := range m.waiting {
			held += x.held
			if x.held > m.waiting[most].held {
				most = i
			}
		}
		switch {
		case m.out+w.size <= m.limit:
		case w.size > m.limit-held && (!m.overOut || time.Since(m.overAt) >= mem.OverdraftInterval):
			if time.Since(m.frontAt) < mem.FrontTime {
				k, w = most, m.waiting[most]
			}
			m.overBase, m.overAt = max(m.limit, m.out), time.Now()
			m.overOut = true
			m.overs++
		default:
			return
		}
		m.out += w.size
		m.waiting = slices.Delete(m.waiting, k, k+1)
		m.served = append(m.served, w)
	}
}

// sleep lets time go by for the model and for what it is compared with.
func (m *budgetModel) sleep(d time.Duration) {
	end := time.Now().Add(d)
	for {
		m.settle()
		next := m.overAt.Add(mem.OverdraftInterval)
		if len(m.waiting) == 0 || !next.After(time.Now()) || !next.Before(end) {
			break
		}
		time.Sleep(time.Until(next))
		synctest.Wait()
	}
	time.Sleep(time.Until(end))
	synctest.Wait()
	m.settle()
}

var errStopped = errors.New("stopped")

// Random histories in a bubble of their own time, compared with the model after
// each step: which waiter is served, in which order, what is refused, and how
// much is charged.
func TestTheQueueDoesWhatItsModelDoes(t *testing.T) {
	seed := sluicetest.Seed(t)
	histories, steps := 60, 400
	if sys.Race {
		histories = 15
	}
	// A cleanup runs outside of the bubble.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	overdrafts, refused, stopped, waited := 0, 0, 0, 0
	for i := range histories {
		synctest.Test(t, func(t *testing.T) {
			h := newBudgetHistory(t, rand.New(rand.NewPCG(seed, uint64(i))))
			defer h.abandon()
			for h.step = range steps {
				h.do()
				h.compare()
				if t.Failed() {
					t.Fatalf("history %d, step %d", i, h.step)
				}
			}
			h.finish()
			overdrafts, refused, stopped, waited = overdrafts+h.m.overs, refused+h.refused, stopped+h.stopped, waited+h.waited
		})
	}
	t.Logf("%d waited, %d were stopped, %d refused, %d overdrafts", waited, stopped, refused, overdrafts)
	if min(overdrafts, refused, stopped, waited) < histories {
		t.Error("the histories have no bite")
	}
}

type budgetHistory struct {
	t       *testing.T
	rnd     *rand.Rand
	a       *mem.Allocator
	m       budgetModel
	held    []*modelBlock
	results chan modelResult
	step    int
	started []*modelWaiter // all of them, by id

	refused, stopped, waited int
}

type modelResult struct {
	w    *modelWaiter
	slab mem.Slab
	buf  mem.Buf
	err  error
}

func newBudgetHistory(t *testing.T, rnd *rand.Rand) *budgetHistory {
	limit := int64(8<<10 + rnd.IntN(56<<10))
	level := leakLevels[rnd.IntN(len(leakLevels))]
	h := &budgetHistory{t: t, rnd: rnd, results: make(chan modelResult, 1000)}
	h.a = mem.New(mem.Options{Budget: limit, Leak: level})
	h.m.limit, h.m.overBase = limit, limit
	return h
}

// do takes one step.
func (h *budgetHistory) do() {
	n := 1 + h.rnd.IntN(1<<(8+h.rnd.IntN(6)))
	size := int64(h.a.Cap(n))
	switch what := h.rnd.IntN(100); {
	case what < 20:
		b, err := h.a.TryGet(n)
		if fits := len(h.m.waiting) == 0 && h.m.out+size <= h.m.limit; fits != (err == nil) {
			h.t.Errorf("%d of %d are out, %d wait, %d wanted: %v", h.m.out, h.m.limit, len(h.m.waiting), size, err)
		}
		if err != nil {
			h.refused++
			return
		}
		h.m.out += size
		h.held = append(h.held, &modelBlock{buf: b, size: size})
	case what < 22:
		h.held = append(h.held, &modelBlock{buf: h.a.Get(n), size: size, byGet: true})
		h.m.out += size
	case what < 45:
		if size <= h.m.limit {
			h.await(n)
		}
	case what < 52:
		if len(h.m.waiting) > 0 {
			h.stop(h.rnd.IntN(len(h.m.waiting)))
		}
	case what < 75:
		if len(h.held) > 0 {
			h.release(h.rnd.IntN(len(h.held)))
		}
	case what < 88:
		if len(h.held) > 0 {
			h.idle(h.held[h.rnd.IntN(len(h.held))])
		}
	case what < 99:
		// Not a whole number of milliseconds, so that no step meets the alarm.
		h.m.sleep(time.Duration(h.rnd.IntN(30))*time.Millisecond + time.Microsecond)
	default:
		h.a.Trim()
	}
}

// await starts a waiter, which keeps some of the held blocks meanwhile.
func (h *budgetHistory) await(n int) {
	w := &modelWaiter{id: len(h.started), size: int64(h.a.Cap(n))}
	h.started = append(h.started, w)
	slab := h.rnd.IntN(3) > 0
	if slab {
		for range h.rnd.IntN(4) {
			if len(h.held) == 0 {
				break
			}
			k := h.rnd.IntN(len(h.held))
			b := h.held[k]
			if b.idle {
				h.idle(b)
			}
			w.keeps, w.held = append(w.keeps, b), w.held+b.size
			h.held = slices.Delete(h.held, k, k+1)
		}
		w.stop = make(chan error, 1)
		go func() {
			s, err := h.a.AwaitSlab(n, int(w.held), w.stop)
			h.results <- modelResult{w, s, mem.Buf{}, err}
		}()
	} else {
		ctx, cancel := context.WithCancelCause(context.Background())
		w.cancel = cancel
		go func() {
			b, err := h.a.GetContext(ctx, n)
			h.results <- modelResult{w, mem.Slab{}, b, err}
		}()
	}
	h.m.waiting = append(h.m.waiting, w)
	h.m.settle()
	synctest.Wait()
	if slices.Contains(h.m.waiting, w) {
		h.waited++
	}
}

// stop ends the wait of number k.
func (h *budgetHistory) stop(k int) {
	w := h.m.waiting[k]
	if w.stop != nil {
		w.stop <- errStopped
	} else {
		w.cancel(errStopped)
	}
	h.m.waiting = slices.Delete(h.m.waiting, k, k+1)
	h.m.settle()
	synctest.Wait()
	h.stopped++
	for range len(h.results) {
		r := <-h.results
		if r.w != w {
			h.results <- r
			continue
		}
		if !errors.Is(r.err, errStopped) || !errors.Is(r.err, mem.ErrBudget) || r.slab.Valid() || r.buf.Valid() {
			h.t.Errorf("number %d was stopped and has %v", w.id, r.err)
		}
		h.held = append(h.held, w.keeps...)
		return
	}
	h.t.Errorf("number %d was stopped and does not return", w.id)
}

func (h *budgetHistory) release(k int) {
	b := h.held[k]
	if b.idle {
		h.idle(b)
	}
	h.held = slices.Delete(h.held, k, k+1)
	h.m.out -= b.size
	h.m.settle()
	b.release()
}

// idle changes whether b is in the hands of a reader that waits for its peer.
func (h *budgetHistory) idle(b *modelBlock) {
	b.idle = !b.idle
	d := b.size
	if !b.idle {
		d = -d
	}
	h.m.idle += d
	h.m.settle()
	h.a.Idle(int(d))
	synctest.Wait()
}

// compare checks that the same waiters were served as in the model.
func (h *budgetHistory) compare() {
	synctest.Wait()
	for range len(h.results) {
		r := <-h.results
		k := slices.Index(h.m.served, r.w)
		if k < 0 || r.err != nil {
			h.t.Errorf("number %d was served, %v, and is not the first of %d", r.w.id, r.err, len(h.m.waiting))
			return
		}
		h.m.served = slices.Delete(h.m.served, k, k+1)
		h.held = append(h.held, &modelBlock{slab: r.slab, buf: r.buf, size: r.w.size})
		h.held = append(h.held, r.w.keeps...)
	}
	for _, w := range h.m.served {
		h.t.Errorf("number %d, %d bytes, was not served", w.id, w.size)
	}
	h.m.served = nil
	for size := 256; int64(size) <= h.m.limit; size *= 2 {
		if _, missed := h.a.Gauges(size); missed {
			h.t.Errorf("a charged block of %d bytes would not be found when charges are called in", size)
		}
	}
	s := h.a.Stats()
	if s.OutBytes != h.m.out || s.Budget.Waiting != len(h.m.waiting) {
		h.t.Errorf("%d bytes are out and %d wait, the figures say %d and %d", h.m.out, len(h.m.waiting), s.OutBytes, s.Budget.Waiting)
	}
	got := int64(0)
	for _, b := range h.held {
		if b.byGet {
			got += b.size
		}
	}
	for _, w := range h.m.waiting {
		for _, b := range w.keeps {
			if b.byGet {
				got += b.size
			}
		}
	}
	// An idle block may have kept the charge that Get made, so not Charged.
	if h.m.out > h.m.limit+s.Budget.Overdraft+got {
		h.t.Errorf("%d bytes are out, the limit is %d, overdrafts are %d and Get has taken %d", h.m.out, h.m.limit, s.Budget.Overdraft, got)
	}
	if len(h.m.waiting) > 0 && s.Budget.Charged != h.m.out {
		h.t.Errorf("%d bytes are charged while others wait, %d are out", s.Budget.Charged, h.m.out)
	}
}

// finish gives everything back, also what waiters get, as soon as they get it.
func (h *budgetHistory) finish() {
	for len(h.m.waiting) > 0 || len(h.held) > 0 {
		before := len(h.m.waiting) + len(h.held)
		for len(h.held) > 0 {
			h.release(0)
		}
		h.compare()
		if len(h.m.waiting)+len(h.held) >= before {
			h.m.sleep(mem.OverdraftInterval + time.Microsecond)
			h.compare()
		}
		if h.t.Failed() || before > 0 && len(h.held) == 0 && len(h.m.waiting) >= before {
			h.t.Fatalf("%d wait for ever", len(h.m.waiting))
		}
	}
	h.a.Trim()
	var none mem.Stats
	none.Budget.Limit = h.m.limit
	if s := h.a.Stats(); s.Budget != none.Budget || s.CheckedOut != 0 {
		h.t.Errorf("in the end: %+v", s.Budget)
	}
}

// abandon ends every wait, so that a history that failed ends with its own
// message.
func (h *budgetHistory) abandon() {
	for _, w := range h.started {
		switch {
		case w.cancel != nil:
			w.cancel(errStopped)
		case len(w.stop) == 0:
			w.stop <- errStopped
		}
	}
}
