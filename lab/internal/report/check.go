package report

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/measure"
)

// What a file may hold. A file that says more is not one that this program
// wrote, and pages made of it would be of no use.
const (
	mostFigure = 1e18      // any number: bytes a second, nanoseconds
	mostList   = 4_000_000 // elements of a list
)

// sane reports an error for a number, anywhere in v, that is negative or beyond
// mostFigure, and for a list beyond mostList. Figures of bench may be negative:
// differences are among them.
func sane(v reflect.Value, path string, signed bool) error {
	number := func(n float64) error {
		if math.Abs(n) > mostFigure || n < 0 && !signed {
			return fmt.Errorf("%s is %v", path, n)
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Float64:
		return number(v.Float())
	case reflect.Int, reflect.Int64:
		return number(float64(v.Int()))
	case reflect.Pointer:
		if !v.IsNil() {
			return sane(v.Elem(), path, signed)
		}
	case reflect.Slice, reflect.Array:
		if v.Len() > mostList {
			return fmt.Errorf("%d %s, at most %d are read", v.Len(), path, mostList)
		}
		for i := range v.Len() {
			if err := sane(v.Index(i), path, signed); err != nil {
				return err
			}
		}
	case reflect.Map:
		for at := v.MapRange(); at.Next(); {
			if err := sane(at.Value(), fmt.Sprintf("%s %v", path, at.Key()), signed); err != nil {
				return err
			}
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return nil
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				if err := sane(v.Field(i), f.Name, signed || v.Type() == reflect.TypeFor[measure.Turn]()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func ascending[T any, K cmp.Ordered](what string, list []T, key func(T) K) error {
	if slices.IsSortedFunc(list, func(a, b T) int { return cmp.Compare(key(a), key(b)) }) {
		return nil
	}
	return fmt.Errorf("%s are not in order", what)
}

func checkBench(f *File) error {
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

func checkLoad(r *load.Result) error {
	if !r.Valid {
		// There is no latency of such a run, whatever the file says.
		r.Latency, r.Service, r.Due = nil, nil, nil
	}
	errs := []error{
		ascending("windows", r.Series, func(s load.Second) time.Duration { return s.At }),
		ascending("windows by due time", r.Due, func(w load.DueWindow) time.Duration { return w.At }),
	}
	for _, d := range []*load.Distribution{r.Latency, r.Service} {
		if d != nil {
			errs = append(errs, ascending("shares", d.Curve, func(q load.Quantile) float64 { return q.Q }),
				ascending("percentiles", d.Curve, func(q load.Quantile) time.Duration { return q.At }))
			if n := len(d.Curve); n > 0 && d.Curve[n-1].Q > 1 {
				errs = append(errs, fmt.Errorf("a share of %v", d.Curve[n-1].Q))
			}
		}
	}
	return errors.Join(errs...)
}
