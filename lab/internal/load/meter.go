package load

import (
	"sync"
	"time"

	"github.com/sluice-go/sluice/lab/internal/proc"
)

type meter struct {
	pids     []int // 0 for the generator, then the target's
	mu       sync.Mutex
	from, to []proc.Reading // at both ends of it; nil before, and when one cannot be read
	timers   []*time.Timer
}

func (m *meter) begin(s *session) {
	m.timers = []*time.Timer{
		time.AfterFunc(time.Duration(s.start-s.now()), func() { m.read(&m.from) }),
		time.AfterFunc(time.Duration(s.end-s.now()), func() { m.read(&m.to) }),
	}
}

func (m *meter) read(to *[]proc.Reading) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := len(*to); i < len(m.pids); i++ {
		r, err := proc.Read(m.pids[i])
		if err != nil {
			return
		}
		*to = append(*to, r)
	}
}

func (m *meter) stop(requests uint64) (generator Use, target *Use) {
	for _, t := range m.timers {
		t.Stop()
	}
	m.read(&m.to)
	m.mu.Lock()
	defer m.mu.Unlock()
	used := make([]Use, len(m.pids))
	for i := range min(len(m.from), len(m.to)) {
		used[i].Spent = m.from[i].To(m.to[i])
		used[i].CPUPerOp = float64(used[i].CPU) / float64(max(1, requests))
	}
	if len(used) > 1 {
		target = &used[1]
	}
	return used[0], target
}
