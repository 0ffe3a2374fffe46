package rtpmedia

import (
	"slices"
	"testing"
	"time"

	"github.com/pion/rtp"

	"github.com/sluice-go/sluice/mem"
)

// A packet that is sent again takes its place within the time for that; after it the
// others go on without it.
func TestOrderHoldsForRepair(t *testing.T) {
	const within = 200 * time.Millisecond
	var got []uint16
	gaps := 0
	o := order{repair: within}
	push := func(number uint16, at time.Duration) {
		o.arrived(time.Unix(1000, 0).Add(at), 90000, 0)
		o.push(rtp.Header{SequenceNumber: number}, mem.Wrap([]byte{1}, nil), func(h rtp.Header, b mem.Buf, gap bool) {
			b.Release()
			got = append(got, h.SequenceNumber)
			if gap {
				gaps++
			}
		})
	}
	push(65000, 0)
	for i := range uint16(700) { // across the wrap of numbers
		push(65002+i, time.Duration(i)*100*time.Microsecond)
	}
	if len(got) != 1 {
		t.Fatalf("%d packets before the repair", len(got))
	}
	push(65001, 150*time.Millisecond)
	if len(got) != 702 || gaps != 0 || !slices.IsSortedFunc(got, func(a, b uint16) int { return int(int16(a - b)) }) {
		t.Fatalf("%d packets, %d gaps", len(got), gaps)
	}
	next := got[len(got)-1] + 1
	push(next+1, 300*time.Millisecond)
	push(next+2, 499*time.Millisecond)
	if len(got) != 702 {
		t.Fatalf("given up after 199 ms")
	}
	push(next+3, 500*time.Millisecond)
	if len(got) != 705 || gaps != 1 || o.lost != 1 {
		t.Fatalf("%d packets, %d gaps, %d lost", len(got), gaps, o.lost)
	}
}
