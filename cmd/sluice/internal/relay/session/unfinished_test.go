package session

import (
	"errors"
	"math"
	"testing"
	"time"
)

// Who has held most for longest gives way, and is ended once; what it still says counts no
// more.
func TestWhoHoldsMostForLongestGivesWay(t *testing.T) {
	var u Unfinished
	u.Bound(100)
	ended := make(chan string, 10)
	holder := func(name string, n int, ago time.Duration) *Holder {
		h := u.Holder(func(err error) {
			if !errors.Is(err, ErrFull) {
				t.Errorf("%s: %v", name, err)
			}
			ended <- name
		})
		if err := h.Hold(n); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		h.since = h.since.Add(-ago)
		return h
	}
	holder("old", 10, time.Minute)
	large := holder("large", 60, 30*time.Second)
	holder("young", 30, time.Second)
	late := holder("late", 20, 0)
	if name := <-ended; name != "large" {
		t.Fatalf("%s has given way", name)
	}
	if err := large.Hold(1); !errors.Is(err, ErrFull) {
		t.Errorf("the one that gave way: %v", err)
	}
	_ = large.Hold(0)
	if err := late.Hold(60); err != nil || u.sum != 100 {
		t.Errorf("%v, %d bytes", err, u.sum)
	}
	if err := late.Hold(0); err != nil || u.sum != 40 || len(u.holders) != 2 {
		t.Errorf("%v, %d bytes of %d", err, u.sum, len(u.holders))
	}
	alone := holder("alone", 0, 0)
	if err := alone.Hold(101); !errors.Is(err, ErrFull) {
		t.Errorf("more than all: %v", err)
	}
	var none Unfinished
	if err := none.Holder(nil).Hold(math.MaxInt); err != nil {
		t.Errorf("without a bound: %v", err)
	}
}

// Of those that have just begun, who holds more gives way, also when the other is older by what a
// busy server takes to read.
func TestWhoIsALittleOlderDoesNotGiveWay(t *testing.T) {
	var u Unfinished
	u.Bound(100)
	ended := make(chan string, 1)
	whole := u.Holder(func(error) { ended <- "whole" })
	half := u.Holder(func(error) { ended <- "half" })
	if err := errors.Join(whole.Hold(10), half.Hold(60)); err != nil {
		t.Fatal(err)
	}
	whole.since = whole.since.Add(-50 * time.Millisecond)
	if err := u.Holder(nil).Hold(50); err != nil {
		t.Fatal(err)
	}
	if name := <-ended; name != "half" {
		t.Errorf("%s has given way", name)
	}
}
