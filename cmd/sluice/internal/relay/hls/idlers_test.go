package hls

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// Of the viewers without media those of the address that has most go first, so that a flood takes its own places.
func TestAFloodGivesItsOwnPlaces(t *testing.T) {
	x := idlers{hosts: map[netip.Prefix]int{}}
	enter := func(address, stream string) *viewer {
		v := &viewer{key: viewerKey{address: netip.MustParseAddr(address), stream: stream}, limit: time.Minute}
		x.enter(v)
		return v
	}
	first := enter("192.0.2.1", "live/a")
	other := enter("192.0.2.2", "live/b")
	for i := range 3 {
		enter(fmt.Sprintf("2001:db8::%d", i), "live/a") // of one /64
	}
	for range 2 {
		v := x.next("live/a", 0, 0)
		if v == nil || v.key.address.Is4() {
			t.Fatalf("%v gives its place before those of the flood", v)
		}
		x.leave(v)
	}
	if v := x.next("live/b", 0, 0); v != other {
		t.Errorf("%v gives its place to one of another stream", v)
	}
	if v := x.next("", time.Hour, 0); v != nil {
		t.Errorf("%v gives its place before its time", v)
	}
	first.busy.Add(1)
	x.leave(x.next("live/a", 0, 0)) // the last of the flood
	x.took(other)
	if v := x.next("", 0, 0); v != nil {
		t.Errorf("%v gives its place during a request, or has taken media", v)
	}
	other.limit = 0
	if v := x.next("", 0, 0); v != other {
		t.Errorf("%v gives its place, not the one without media for its time", v)
	}
	x.leave(other)
	for e := x.fresh.Front(); e != nil; e = x.fresh.Front() {
		x.leave(e.Value.(*viewer))
	}
	if x.fresh.Len()+x.fed.Len()+len(x.hosts) != 0 {
		t.Errorf("%v is left", x)
	}
}
