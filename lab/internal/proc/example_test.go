package proc_test

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/proc"
)

func ExampleReading_To() {
	before, err := proc.Read(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	sum := 0
	for i := range 1_000_000 {
		sum += i
	}
	after, err := proc.Read(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	spent := before.To(after)
	fmt.Println(sum, spent.CPU >= 0)
	// Output: 499999500000 true
}
