package listen

import (
	"net/netip"
	"testing"
	"time"
)

// Where silent connections hold the places it is said who has most of them, and not again and again.
func TestWhoHoldsThePlacesIsReported(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	a := &Arrivals{now: func() time.Time { return now }, quietFor: time.Hour} // no timer of its own fires meanwhile
	a.Limit(3, 0)
	var reports []ArrivalStats
	a.Report(func(s ArrivalStats, most netip.Prefix) {
		if reports = append(reports, s); most.Addr() != netip.MustParseAddr("192.0.2.1") {
			t.Errorf("%v has most", most)
		}
	})
	a.Come(netip.MustParseAddr("192.0.2.2"), nil, func(error) {})
	come := func() {
		a.Come(netip.MustParseAddr("192.0.2.1"), nil, func(error) {})
	}
	look := func() {
		for range 5 {
			now = now.Add(time.Second)
			a.due = now
			a.look()
		}
	}
	for range 4 {
		come()
	}
	if look(); len(reports) != 0 {
		t.Errorf("without one that has given way: %+v", reports)
	}
	now = now.Add(a.quietFor)
	if look(); len(reports) != 1 || reports[0].GaveWay != 2 {
		t.Errorf("%+v", reports)
	}
	now = now.Add(a.quietFor)
	for range 2 {
		come()
	}
	if look(); len(reports) != 2 || reports[1].GaveWay != 4 {
		t.Errorf("%+v", reports)
	}
}
