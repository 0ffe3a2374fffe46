package source_test

import (
	"io"
	"testing"

	"github.com/sluice-go/sluice/internal/source"
)

// BenchmarkLook is what looking at one connection costs, which lookEvery and
// looksAtOnce are chosen by.
func BenchmarkLook(b *testing.B) {
	near, far := pair(b, "tcp")
	defer far.Close()
	raw, err := source.Descriptor(io.Reader(near)).SyscallConn()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := raw.Read(func(uintptr) bool { return true }); err != nil {
			b.Fatal(err)
		}
	}
}
