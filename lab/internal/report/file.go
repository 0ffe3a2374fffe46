package report

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/diagnose"
	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/matrix"
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
	Mode    string  `json:"mode"`        // quick, normal or full
	Seed    uint64  `json:"seed,string"` // a string since readers of JSON lose digits of large integers
	Seconds float64 `json:"seconds"`
	// How many of the machine's processors others used meanwhile, on average; Processors is 0 where that is not known.
	Others     float64           `json:"others,omitempty"`
	Processors int               `json:"processors,omitempty"`
	Scenarios  []measure.Outcome `json:"scenarios"`
}

// Save writes the file as JSON, with the summaries beside the raw values.
func (f *File) Save(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	return encoder.Encode(struct {
		*File
		Summaries []Summary `json:"summaries"`
	}{f, f.Summaries()})
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

const (
	KindBench = "bench"
	KindLoad  = load.Kind
)

const mostRead = 256 << 20

// A Result is one results file of any kind. Just one of the pointers is set, the
// one that Kind names.
type Result struct {
	Name      string // of the file, without its directory
	Kind      string
	Bench     *File
	Load      *load.Result
	Matrix    *matrix.File
	Diagnosis *diagnose.Diagnosis
	Pair      *load.Pair
	Search    *load.Found
}

// Open reads a results file, which gzip may have compressed; see Read. The path - is standard input's.
func Open(path string) (*Result, error) {
	if path == "-" {
		return Read(os.Stdin, "standard input")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var from io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if from, err = gzip.NewReader(file); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	r, err := Read(from, filepath.Base(path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

var kinds = map[string]struct {
	schema int
	into   func(*Result) any
}{
	KindBench:       {Schema, func(r *Result) any { r.Bench = new(File); return r.Bench }},
	KindLoad:        {load.Schema, func(r *Result) any { r.Load = new(load.Result); return r.Load }},
	matrix.Kind:     {matrix.Schema, func(r *Result) any { r.Matrix = new(matrix.File); return r.Matrix }},
	diagnose.Kind:   {diagnose.Schema, func(r *Result) any { r.Diagnosis = new(diagnose.Diagnosis); return r.Diagnosis }},
	load.PairKind:   {load.Schema, func(r *Result) any { r.Pair = new(load.Pair); return r.Pair }},
	load.SearchKind: {load.Schema, func(r *Result) any { r.Search = new(load.Found); return r.Search }},
}

// Read reads one results file to its end. The error is ErrSchema for JSON that is no
// result, for a kind or a version that this program does not know, and for a
// file whose parts do not belong together; or the reader's. Figures that make no sense are
// shown as they are.
func Read(r io.Reader, name string) (*Result, error) {
	text, err := io.ReadAll(io.LimitReader(r, mostRead))
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	head := machine.Origin{Kind: KindBench}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("report: %w: %w", ErrSchema, err)
	}
	kind, known := kinds[head.Kind]
	switch {
	case !known:
		return nil, fmt.Errorf("report: %w: there is no kind %.40q", ErrSchema, head.Kind)
	case head.Schema == 0:
		return nil, fmt.Errorf("report: %w: it has no \"schema\"", ErrSchema)
	case head.Schema != kind.schema:
		return nil, fmt.Errorf("report: %w: %s of version %d, this program reads %d", ErrSchema, head.Kind, head.Schema, kind.schema)
	}
	result := &Result{Name: name, Kind: head.Kind}
	if err = json.Unmarshal(text, kind.into(result)); err == nil {
		err = guarded(result.check)
	}
	if err != nil {
		return nil, fmt.Errorf("report: %w: %w", ErrSchema, err)
	}
	return result, nil
}

func (r *Result) check() error {
	switch {
	case r.Bench != nil:
		return r.Bench.check()
	case r.Matrix != nil:
		r.Matrix.Derive()
	case r.Load != nil && !r.Load.Valid: // there is no latency of such a run, whatever the file says
		r.Load.Latency, r.Load.Service, r.Load.Due, r.Load.Jitter = nil, nil, nil, 0
	}
	return nil
}

// guarded makes an ErrSchema of a panic over figures that no run can have: only a file that was
// changed by hand has them.
func guarded(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: its figures make no sense: %v", ErrSchema, r)
		}
	}()
	return do()
}

// Origin is what every kind of result says of itself.
func (r *Result) Origin() *machine.Origin {
	switch {
	case r.Bench != nil:
		return &r.Bench.Origin
	case r.Load != nil:
		return &r.Load.Origin
	case r.Matrix != nil:
		return &r.Matrix.Origin
	case r.Pair != nil:
		return &r.Pair.Origin
	case r.Search != nil:
		return &r.Search.Origin
	}
	return &r.Diagnosis.Origin
}
