package au

import (
	"bytes"
	"errors"
	"testing"

	"github.com/sluice-go/sluice/flv"
)

// A configuration is a copy that counts for no limit, and each output of a stream has its own.
func TestWhatAConfigurationTakesIsBounded(t *testing.T) {
	if _, err := ParseConfig(flv.CodecVP9, make([]byte, maxRecord+1)); !errors.Is(err, ErrSyntax) {
		t.Errorf("a record of %d bytes: %v", maxRecord+1, err)
	}
	if _, err := ParseConfig(flv.CodecVP9, make([]byte, maxRecord)); err != nil {
		t.Errorf("a record of %d bytes: %v", maxRecord, err)
	}

	held := func(b *InBand) (n int) {
		for _, s := range b.sets {
			n += len(s)
		}
		return n
	}
	set := func(kind byte, id, n int) []byte {
		// An id from 31 on in Exp-Golomb: five zeros, a one, and five bits.
		return append([]byte{0x60 | kind, 0x04 | byte(id)>>3, byte(id) << 5}, bytes.Repeat([]byte{0x11}, n)...)
	}
	b := &InBand{Codec: flv.CodecAVC}
	sps := []byte{0x67, 0x42, 0xc0, 0x1e, 0xda, 0x02, 0x80}
	b.Learn([][]byte{sps, set(8, 0, 10)})
	if b.Config() == nil {
		t.Fatal("no configuration")
	}
	for id := range 16 {
		for _, n := range []int{1 << 20, 10 << 10, 1 << 20} {
			b.Learn([][]byte{set(8, id, n)})
			if n := held(b); n > maxRecord || len(b.Config().Record) > maxRecord {
				t.Fatalf("parameter sets of %d bytes", n)
			}
		}
	}
	// What fits takes the place of what there was.
	b.Learn([][]byte{sps, {0x68, 0xce, 0x3c, 0x80}})
	if n := held(b); n == 0 || b.Config() == nil {
		t.Error("no parameter sets")
	}
}
