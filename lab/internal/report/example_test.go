package report_test

import (
	"bytes"
	"fmt"
	"os"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/lab/internal/report"
)

func Example() {
	calls := func(ns ...float64) (list []measure.Call) {
		for _, value := range ns {
			list = append(list, measure.Call{Figures: map[string]float64{"ns/op": value}})
		}
		return list
	}
	results := &report.File{
		Origin: machine.Origin{
			Kind: report.KindBench, Schema: report.Schema,
			Machine: machine.Machine{OS: "linux", Arch: "amd64", CPU: "Some CPU", Cores: 2, GOMAXPROCS: 2, GOGC: "100", Go: "go1.25.0"},
		},
		Scenarios: []measure.Outcome{{
			Name: "adding/ones", Title: "adding up", Op: "addition", Metric: "ns/op", Baseline: "ones",
			State: measure.Done, Ops: 1000, Rounds: 7,
			Variants: []measure.Variant{
				{Name: "ones", Calls: calls(10, 11, 10, 12, 30, 10, 11)},
				{Name: "pairs", Calls: calls(6, 7, 6, 7, 18, 6, 7)},
			},
		}},
	}
	var saved bytes.Buffer
	if err := results.Save(&saved); err != nil {
		fmt.Println(err)
		return
	}
	// Later, or elsewhere.
	loaded, err := report.Read(&saved, "saved")
	if err != nil {
		fmt.Println(err)
		return
	}
	document.NewPrinter(os.Stdout, false).Print(report.Scenario(&loaded.Bench.Scenarios[0]))
	// Output:
	// adding/ones  adding up
	//   variant  time/addition  ratio          95 %
	//   ones *           11 ns      1
	//   pairs             7 ns   0.60  0.58 .. 0.64
	// 7 rounds of 1,000 x addition
}
