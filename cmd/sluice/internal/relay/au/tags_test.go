package au

import (
	"testing"

	"github.com/sluice-go/sluice/internal/flvclip"
)

// Tags are whole, or the caller has not got them from a live.Reader.
func TestTagsThatAreCut(t *testing.T) {
	n := 0
	for range Tags(flvclip.File) {
		n++
	}
	if n < 200 {
		t.Errorf("%d tags", n)
	}
	for _, cut := range []int{1, 3, 10, 11, 100} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic when %d bytes are missing", cut)
				}
			}()
			for range Tags(flvclip.File[:len(flvclip.File)-cut]) {
			}
		}()
	}
}
