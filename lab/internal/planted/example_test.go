package planted_test

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/planted"
)

func ExampleAll() {
	for _, s := range planted.All() {
		fmt.Println(s.Name)
	}
	// Output:
	// planted/small-writes
	// planted/slice-per-packet
	// planted/shared-counter
	// planted/lock-over-io
	// planted/small-buffer
	// planted/small-flushes
}
