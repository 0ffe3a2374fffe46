package load

import (
	"sync"
	"time"

	"github.com/sluice-go/sluice/lab/internal/proc"
)

// A meter reads what generator and target use of the machine, each second of the time measured.
type meter struct {
	pids    []int // 0 for the generator, then the target's
	mu      sync.Mutex
	read    []readings // at the start of it, then each second, and at its end
	timer   *time.Timer
	stopped bool

	seen    uint64
	silence *readings     // when it was noticed that nothing is answered; nil while something is
	longest time.Duration // silence
	crowded *float64      // for which part of that a processor was missing
}

type readings struct {
	of     []proc.Reading // of pids
	others proc.Others
	each   map[int]time.Duration // what each process has used, where the target is not known
}

func (m *meter) begin(s *session) {
	m.mu.Lock() // the function may run at once, and uses the timer
	defer m.mu.Unlock()
	m.timer = time.AfterFunc(time.Duration(s.start-s.now()), func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.stopped {
			return
		}
		m.listen(s.seen().requests)
		now := s.now()
		if due := s.start + int64(len(m.read))*int64(seriesTime); now >= min(due, s.end) {
			if r := m.now(); r != nil {
				m.read = append(m.read, *r)
			}
		}
		if m.read != nil && now < s.end {
			m.timer.Reset(time.Duration(min(s.end-now, int64(slotTime))))
		}
	})
}

// listen notices when nothing is answered, and how crowded it was then.
func (m *meter) listen(seen uint64) {
	silent := seen == m.seen
	m.seen = seen
	switch {
	case silent && m.silence == nil:
		m.silence = m.now()
	case !silent && m.silence != nil:
		if now := m.now(); now != nil {
			took, crowded := now.others.Since(m.silence.others), m.silence.crowded(now)
			if took > m.longest && crowded != nil {
				m.longest, m.crowded = took, new(float64)
				*m.crowded = crowded.Seconds() / took.Seconds()
			}
		}
		m.silence = nil
	}
}

// now is nil where something cannot be read.
func (m *meter) now() *readings {
	r := &readings{}
	for _, pid := range m.pids {
		one, err := proc.Read(pid)
		if err != nil {
			return nil
		}
		r.of = append(r.of, one)
	}
	if r.others = proc.ReadOthers(); len(m.pids) == 1 {
		r.each = proc.Each()
	}
	return r
}

func (m *meter) stop(r *Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.timer.Stop()
	m.stopped = true
	m.listen(m.seen + 1) // the end of a silence up to here
	r.GapCrowded = m.crowded
	if last := m.now(); last != nil && (len(m.read) == 1 || m.read != nil && r.Interrupted) {
		m.read = append(m.read, *last)
	}
	used := make([]Use, len(m.pids))
	for i := range used {
		if len(m.read) > 1 {
			used[i].Spent = m.read[0].of[i].To(m.read[len(m.read)-1].of[i])
			used[i].CPUPerOp = float64(used[i].CPU) / float64(max(1, r.Requests))
		}
	}
	if r.Generator = used[0]; len(used) > 1 {
		r.Target = &used[1]
	}
	for i := range min(len(r.Series), len(m.read)-1) {
		r.Series[i].Crowded = m.read[i].crowded(&m.read[i+1])
	}
}

// crowded is for how long others kept generator or target from a processor at most: what one of these waited, or
// what others used if that is less, since they wait for each other too. Of a target that is not known it is
// taken that no other process worked as much.
func (r *readings) crowded(later *readings) *time.Duration {
	average, processors := r.others.To(later.others)
	others, waited := time.Duration(average*float64(later.others.Since(r.others))), time.Duration(0)
	for i, from := range r.of {
		spent := from.To(later.of[i])
		if spent.Queued == nil || processors == 0 {
			return nil
		}
		if waited = max(waited, *spent.Queued); i > 0 {
			others -= spent.CPU
		}
	}
	busiest := time.Duration(0)
	for pid, used := range later.each {
		busiest = max(busiest, used-r.each[pid])
	}
	waited = max(0, min(waited, others-busiest))
	return &waited
}
