package matrix_test

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/matrix"
	"github.com/sluice-go/sluice/lab/internal/units"
)

func ExampleNew() {
	f, err := matrix.New(matrix.Buffer, matrix.Choice{Layers: []string{"std"}, Rows: "4KiB,16KiB,64KiB", Columns: "none,64KiB", Rounds: 5})
	if err != nil {
		panic(err)
	}
	fmt.Println(f.Rows.Name, f.Rows.Labels, f.Columns.Name, f.Columns.Labels)
	fmt.Println(len(f.Cells), "cells,", f.Missing(), "runs, about", units.Span(f.Estimate()))
	// Output:
	// read buffer [4 KiB 16 KiB 64 KiB] write buffer [none 64 KiB]
	// 6 cells, 30 runs, about 33 s
}
