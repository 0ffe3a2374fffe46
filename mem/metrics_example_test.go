package mem_test

import (
	"fmt"
	"io"
	"os"

	"github.com/sluice-go/sluice/mem"
)

// writeBudget writes the figures of an allocator's budget in the text format
// of Prometheus: the body of a handler for /metrics. Alert on the wait, not on
// what is charged: a full budget is normal, a long queue means that it is too
// small.
func writeBudget(w io.Writer, s mem.Stats) {
	for _, m := range []struct {
		name, help string
		value      float64
	}{
		{"limit_bytes", "The budget.", float64(s.Budget.Limit)},
		{"charged_bytes", "Capacity counted against the budget.", float64(s.Budget.Charged)},
		{"overdraft_bytes", "Capacity granted beyond the budget.", float64(s.Budget.Overdraft)},
		{"waiting", "Requests that wait for room.", float64(s.Budget.Waiting)},
		{"longest_wait_seconds", "How long the first of them has waited.", s.Budget.LongestWait.Seconds()},
	} {
		name := "sluice_budget_" + m.name
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s gauge\n%s{allocator=%q} %g\n", name, m.help, name, name, s.Name, m.value)
	}
}

// The figures of a budget as metrics. For an expvar publish the allocator
// itself: expvar.Publish("ingest", alloc).
func ExampleAllocator_Stats() {
	alloc := mem.New(mem.Options{Name: "ingest", Budget: 65536})
	buf, err := alloc.TryGet(10_000) // a block of 16 KiB
	if err != nil {
		fmt.Println(err)
		return
	}
	defer buf.Release()
	writeBudget(os.Stdout, alloc.Stats())
	// Output:
	// # HELP sluice_budget_limit_bytes The budget.
	// # TYPE sluice_budget_limit_bytes gauge
	// sluice_budget_limit_bytes{allocator="ingest"} 65536
	// # HELP sluice_budget_charged_bytes Capacity counted against the budget.
	// # TYPE sluice_budget_charged_bytes gauge
	// sluice_budget_charged_bytes{allocator="ingest"} 16384
	// # HELP sluice_budget_overdraft_bytes Capacity granted beyond the budget.
	// # TYPE sluice_budget_overdraft_bytes gauge
	// sluice_budget_overdraft_bytes{allocator="ingest"} 0
	// # HELP sluice_budget_waiting Requests that wait for room.
	// # TYPE sluice_budget_waiting gauge
	// sluice_budget_waiting{allocator="ingest"} 0
	// # HELP sluice_budget_longest_wait_seconds How long the first of them has waited.
	// # TYPE sluice_budget_longest_wait_seconds gauge
	// sluice_budget_longest_wait_seconds{allocator="ingest"} 0
}
