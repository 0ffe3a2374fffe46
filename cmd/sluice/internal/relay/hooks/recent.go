package hooks

import (
	"strconv"
	"sync"
)

// recentEvents is how many events Recent keeps.
const recentEvents = 500

// Recent keeps the latest events, for those who look at the server. The zero value
// is ready. It is safe for concurrent use.
type Recent struct {
	mu   sync.Mutex
	list []Event // a ring, once it is full
	last int64   // number of the newest
}

// Add implements List.
func (r *Recent) Add(v Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v.Time = v.Time.UTC()
	if len(r.list) < recentEvents {
		r.list = append(r.list, v)
	} else {
		r.list[r.last%recentEvents] = v
	}
	r.last++
}

// After returns the events after number n that are kept, the oldest first, and the
// number of the newest. For an n that no event has had yet, as after a restart, it
// returns all of them.
func (r *Recent) After(n int64) (events []Event, last int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := int64(len(r.list))
	if n < 0 || n > r.last {
		n = 0
	}
	events = []Event{}
	for i := max(n, r.last-kept); i < r.last; i++ {
		v := r.list[i%recentEvents]
		v.ID = strconv.FormatInt(i+1, 10)
		events = append(events, v)
	}
	return events, r.last
}
