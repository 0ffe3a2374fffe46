package load

import (
	"time"

	"github.com/sluice-go/sluice/lab/internal/proc"
)

// A meter reads what the generator and the target use within the time measured.
type meter struct {
	pids              []int // 0 for the generator, then the target's
	from, to          []proc.Reading
	stopped, finished chan struct{}
}

func newMeter(p *Plan) *meter {
	m := &meter{pids: []int{0}, stopped: make(chan struct{}), finished: make(chan struct{})}
	if p.PID > 0 {
		m.pids = append(m.pids, p.PID)
	}
	return m
}

// run reads at both ends of the time measured, or when it is stopped.
func (m *meter) run(s *session) {
	defer close(m.finished)
	if !m.until(s, s.start) {
		return
	}
	m.from = m.read()
	m.until(s, s.end)
	m.to = m.read()
}

// until waits for a time of the session; it returns false when the meter is stopped before.
func (m *meter) until(s *session, at int64) bool {
	timer := time.NewTimer(time.Duration(at - s.now()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-m.stopped:
		return false
	}
}

// read reads the processes; nil when one cannot be read.
func (m *meter) read() (list []proc.Reading) {
	for _, pid := range m.pids {
		r, err := proc.Read(pid)
		if err != nil {
			return list
		}
		list = append(list, r)
	}
	return list
}

// stop ends the meter and returns what was used for so many requests.
func (m *meter) stop(requests uint64) (generator Use, target *Use) {
	close(m.stopped)
	<-m.finished
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
