package calibrate_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/lab/internal/calibrate"
)

func ExampleTheory() {
	perSecond := calibrate.Theory(8, 4, time.Millisecond)
	fmt.Printf("%.0f requests a second\n", perSecond)
	// Output: 32000 requests a second
}
