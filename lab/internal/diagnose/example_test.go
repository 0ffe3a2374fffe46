package diagnose_test

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/diagnose"
	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
)

// Strace saw small writes, and the CPU profile that they are half of the work.
func ExampleDiagnose() {
	send := []evidence.Frame{{Func: "internal/poll.(*FD).Write"}, {Func: "main.send", File: "send.go", Line: 12}}
	e := &evidence.Evidence{
		CPU: &evidence.Profile{Unit: "ns", Total: 2000, Stacks: []evidence.Stack{
			{Value: 1000, Frames: send},
			{Value: 1000, Frames: []evidence.Frame{{Func: "main.work"}}},
		}},
		Calls: &evidence.Calls{Total: 100, ByName: []evidence.Call{{Name: "write", Count: 100, Under512: 90}}},
	}
	f, _ := diagnose.First(diagnose.Diagnose(e))
	fmt.Println(f.Rule, "in", f.Top)
	fmt.Println(f.Clue)
	// Output:
	// small-writes in main.send, send.go:12
	// 90 % of writes were under 512 B; calls that write took 50 % of the processor time
}
