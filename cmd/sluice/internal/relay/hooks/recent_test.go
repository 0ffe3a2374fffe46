package hooks

import (
	"strconv"
	"testing"
)

func TestRecentKeepsTheLatest(t *testing.T) {
	var r Recent
	if events, last := r.After(0); len(events) != 0 || events == nil || last != 0 {
		t.Fatalf("%v, %d of none", events, last)
	}
	for n := 1; n <= 3*recentEvents+7; n++ {
		r.Add(Event{Event: PlayBegin, Session: "v" + strconv.Itoa(n)})
		if n > 3 && n%recentEvents > 3 && n%41 != 0 {
			continue // what Recent keeps is written over from its begin at a multiple
		}
		for _, after := range []int64{-1, 0, 1, int64(n) - 3, int64(n) - 1, int64(n), int64(n) + 1} {
			first := max(after, int64(n-recentEvents), 0) + 1
			if after > int64(n) {
				first = int64(max(n-recentEvents, 0)) + 1
			}
			events, last := r.After(after)
			if last != int64(n) || int64(len(events)) != last-first+1 {
				t.Fatalf("after %d of %d: %d events, the last %d", after, n, len(events), last)
			}
			for i, v := range events {
				number := strconv.FormatInt(first+int64(i), 10)
				if v.ID != number || v.Session != "v"+number {
					t.Fatalf("after %d of %d: event %d is %s of %s", after, n, i, v.ID, v.Session)
				}
			}
		}
	}
}
