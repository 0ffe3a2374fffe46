package op

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/mem"
)

// The caller's mistake.
func TestPartsOfAMemoryThatWasReleasedPanic(t *testing.T) {
	m := mem.NewMemory(mem.Wrap([]byte("one"), nil), mem.Wrap([]byte("two"), nil))
	if parts := Parts(m); len(parts) != 2 {
		t.Errorf("%d parts", len(parts))
	}
	m.Release()
	defer func() {
		if text, _ := recover().(string); !strings.HasPrefix(text, "aio: a Memory was released after WriteMemory") {
			t.Errorf("panic %q", text)
		}
	}()
	Parts(m)
}
