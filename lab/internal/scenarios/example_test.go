package scenarios_test

import (
	"fmt"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/scenarios"
)

// One round of one variant, as the measuring tools do it.
func Example() {
	for _, s := range scenarios.All() {
		if !strings.HasPrefix(s.Name, "framing/") {
			continue
		}
		for _, v := range s.Variants {
			if v.Name != s.Baseline {
				continue
			}
			runner, err := v.Open(lab.Env{Seed: 1})
			if err != nil {
				panic(err)
			}
			sample, err := runner.Run(1000)
			fmt.Println(s.Name, sample.Bytes > 0, err)
			runner.Close()
		}
	}
	// Output:
	// framing/good true <nil>
	// framing/normal true <nil>
	// framing/poor true <nil>
	// framing/worst true <nil>
	// framing/small-16 true <nil>
	// framing/small-128 true <nil>
}
