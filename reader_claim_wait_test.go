package sluice_test

import (
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// A length that was requested before a wait does not take a block of that
// length after it, even when the allocator has a free one.
func TestAClaimBeforeAWaitTakesNoBlockAfterIt(t *testing.T) {
	const claim = 4 << 20
	for _, network := range []string{"tcp", "unix"} {
		near, far := streamPair(t, network)
		a := mem.New(mem.Options{})
		for range 4 { // so that each processor's cache has one
			b := a.Get(claim)
			b.Release()
		}
		r := readerOf(t, a, 0, near)
		var p []byte
		var err error
		done := waits(t, func(r *sluice.BufReader) { p, err = r.Next(claim) }, r)
		write(t, far, string(testData(5000)))
		eventually(t, "the bytes are there", func() bool { return a.Stats().OutBytes > sluice.MinBlock })
		if out := a.Stats().OutBytes; out > 2*5000+64<<10 {
			t.Errorf("%s: %d bytes are checked out for 5,000 that have come", network, out)
		}
		_ = far.Close()
		done()
		if len(p) != 0 || err == nil {
			t.Errorf("%s: %d bytes, %v", network, len(p), err)
		}
	}
}
