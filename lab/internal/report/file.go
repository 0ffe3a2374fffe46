package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/measure"
)

// Schema is the version of the JSON form. It grows when a reader of the older form would
// misunderstand the newer.
const Schema = 1

// ErrSchema is returned for a file of another version, or for JSON that is no
// results file at all.
var ErrSchema = errors.New("not a results file of this version")

// A File is one run of the program with all that is needed to judge it.
type File struct {
	machine.Origin
	Mode      string            `json:"mode"`        // quick, normal or full
	Seed      uint64            `json:"seed,string"` // a string since readers of JSON lose digits of large integers
	Seconds   float64           `json:"seconds"`
	Scenarios []measure.Outcome `json:"scenarios"`
}

type saved struct {
	*File
	Summaries []Summary `json:"summaries"`
}

// Save writes the file as JSON, with the summaries beside the raw values.
func (f *File) Save(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	return encoder.Encode(saved{f, f.Summaries()})
}

func (f *File) check() error {
	for i := range f.Scenarios {
		o := &f.Scenarios[i]
		if o.Name == "" {
			return fmt.Errorf("scenario %d has no name", i)
		}
		if err := consistent(o); err != nil {
			return fmt.Errorf("scenario %q: %w", o.Name, err)
		}
	}
	return nil
}

// consistent checks what everything else relies on: ratios are taken round by
// round, to a baseline that is there.
func consistent(o *measure.Outcome) error {
	if !o.Measured() {
		return nil
	}
	if _, ok := o.Variant(o.Baseline); !ok {
		return fmt.Errorf("the baseline %q is no variant", o.Baseline)
	}
	for _, v := range o.Variants {
		if v.Skipped == "" && len(v.Calls) != o.Rounds {
			return fmt.Errorf("%q has %d calls in %d rounds", v.Name, len(v.Calls), o.Rounds)
		}
	}
	return nil
}

// Summaries derives the summary of every scenario.
func (f *File) Summaries() []Summary {
	list := make([]Summary, len(f.Scenarios))
	for i := range f.Scenarios {
		list[i] = Summarize(&f.Scenarios[i])
	}
	return list
}
