package scenarios

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strconv"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab/measure"
)

func TestZAA(t *testing.T) {
	size, _ := strconv.Atoi(os.Getenv("SIZE"))
	ops, _ := strconv.Atoi(os.Getenv("OPS"))
	secs, _ := strconv.Atoi(os.Getenv("SECS"))
	if size == 0 {
		t.Skip()
	}
	sc := lab.Scenario{Name: "aa", Op: "frame", Metric: lab.CPUPerOp, Baseline: "peek0", Ops: ops}
	for i := range 5 {
		w := pick(allFrames, "peek")[0]
		w.name = fmt.Sprint("peek", i)
		sc.Variants = append(sc.Variants, overTCP(w, func(env lab.Env) string { return frameKind{env.Seed, size, size}.String() }))
	}
	self, _ := os.Executable()
	out, err := measure.Run(context.Background(), []lab.Scenario{sc}, measure.Options{Settings: measure.Full().WithBudget(time.Duration(secs) * time.Second), Seed: 7, Self: self})
	if err != nil {
		t.Fatal(err)
	}
	med := func(v []float64) float64 { w := append([]float64(nil), v...); sort.Float64s(w); return w[len(w)/2] }
	for _, o := range out {
		fmt.Println("==", o.Name, o.State, o.Reason, "ops", o.Ops, "rounds", o.Rounds, "sec", o.Seconds)
		base, _ := o.Variant(o.Baseline)
		bv := base.Values(o.Metric)
		for _, v := range o.Variants {
			vals := v.Values(o.Metric)
			var rs []float64
			for i := range vals {
				rs = append(rs, vals[i]/bv[i])
			}
			sort.Float64s(rs)
			fmt.Printf("  %-16s %12.1f ratio %7.3f (%.3f..%.3f) MB/s %.0f\n", v.Name, med(vals), med(rs), rs[len(rs)/4], rs[len(rs)*3/4], med(v.Values("MB/s")))
		}
	}
}
