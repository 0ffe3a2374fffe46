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
)

// Kinds of results that Read knows. Those of bench have no kind in their JSON.
const (
	KindBench     = "bench"
	KindLoad      = load.Kind
	KindMatrix    = matrix.Kind
	KindDiagnosis = diagnose.Kind
	KindPair      = load.PairKind
	KindSearch    = load.SearchKind
)

// MaxFile is how large a results file may be, in bytes.
const MaxFile = 256 << 20

// ErrTooLarge is a results file of more than MaxFile bytes.
var ErrTooLarge = errors.New("larger than a results file may be")

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

// Read reads one results file to its end. The error is ErrSchema for JSON that is no
// result, for a kind or a version that this program does not know, and for a
// file whose parts do not belong together; ErrTooLarge beyond MaxFile; or the
// reader's. Figures that make no sense are shown as they are.
func Read(r io.Reader, name string) (*Result, error) { return readWithin(r, name, MaxFile) }

func readWithin(r io.Reader, name string, most int64) (*Result, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("report: %w: more than %d bytes", ErrTooLarge, most)
	}
	var head struct {
		Kind   *string `json:"kind"`
		Schema int     `json:"schema"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("report: %w: %w", ErrSchema, err)
	}
	result := &Result{Name: name, Kind: KindBench}
	if head.Kind != nil {
		result.Kind = *head.Kind
	}
	want := 0
	var into any
	var check func() error
	switch result.Kind {
	case KindBench:
		result.Bench = new(File)
		into, want, check = result.Bench, Schema, result.Bench.check
	case KindLoad:
		result.Load = new(load.Result)
		into, want, check = result.Load, load.Schema, func() error {
			if r := result.Load; !r.Valid { // there is no latency of such a run, whatever the file says
				r.Latency, r.Service, r.Due, r.Jitter = nil, nil, nil, 0
			}
			return nil
		}
	case KindMatrix:
		result.Matrix = new(matrix.File)
		into, want, check = result.Matrix, matrix.Schema, func() error {
			return guarded(func() error {
				result.Matrix.Derive()
				return nil
			})
		}
	case KindDiagnosis:
		result.Diagnosis = new(diagnose.Diagnosis)
		into, want, check = result.Diagnosis, diagnose.Schema, func() error { return nil }
	case KindPair:
		result.Pair = new(load.Pair)
		into, want, check = result.Pair, load.Schema, func() error { return nil }
	case KindSearch:
		result.Search = new(load.Found)
		into, want, check = result.Search, load.Schema, func() error { return nil }
	default:
		return nil, fmt.Errorf("report: %w: there is no kind %.40q", ErrSchema, result.Kind)
	}
	if head.Schema != want {
		return nil, fmt.Errorf("report: %w: %s of version %d, this program reads %d", ErrSchema, result.Kind, head.Schema, want)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return nil, fmt.Errorf("report: %w: %w", ErrSchema, err)
	}
	if err := check(); err != nil {
		return nil, fmt.Errorf("report: %w: %w", ErrSchema, err)
	}
	return result, nil
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
