package matrix

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/units"
)

type scale struct {
	name, unit string    // of unit "B" and "ns", values are written as sizes and times
	all, quick []float64 // by default and with a coarse grid, ascending; 0 of a rate is last
	from, to   float64   // what may be asked for
	zero       string    // what 0 is called; empty where there is none
}

const maxValues = 32

func (s *scale) axis(choice string, quick bool) (Axis, error) {
	values := slices.Clone(s.all)
	if quick {
		values = slices.Clone(s.quick)
	}
	if choice != "" {
		values = nil
		for text := range strings.SplitSeq(choice, ",") {
			v, err := s.parse(strings.TrimSpace(text))
			if err != nil {
				return Axis{}, err
			}
			values = append(values, v)
		}
		slices.SortFunc(values, func(a, b float64) int { return cmp.Compare(s.rank(a), s.rank(b)) })
	}
	if values = slices.Compact(values); len(values) > maxValues {
		return Axis{}, fmt.Errorf("%d values of %s, at most %d", len(values), s.name, maxValues)
	}
	a := Axis{Name: s.name, Unit: s.unit, Values: values}
	for _, v := range values {
		a.Labels = append(a.Labels, s.label(v))
	}
	return a, nil
}

func (s *scale) rank(v float64) float64 {
	if v == 0 && s.zero == "max" {
		return math.Inf(1)
	}
	return v
}

func (s *scale) parse(text string) (float64, error) {
	if s.zero != "" && (text == s.zero || text == "0") {
		return 0, nil
	}
	var v float64
	var err error
	switch s.unit {
	case "B":
		var n int64
		n, err = units.ParseBytes(text)
		v = float64(n)
	case "ns":
		var d time.Duration
		d, err = time.ParseDuration(strings.ReplaceAll(text, " ", ""))
		v = float64(d)
	default:
		v, err = strconv.ParseFloat(text, 64)
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s: %q is none, such as %s", s.name, text, s.label(s.all[1]))
	case !(v >= s.from && v <= s.to):
		return 0, fmt.Errorf("%s: %s is not within %s and %s", s.name, text, s.label(s.from), s.label(s.to))
	case s.unit != "requests/s" && v != math.Trunc(v):
		return 0, fmt.Errorf("%s: %s is not a whole number", s.name, text)
	}
	return v, nil
}

func (s *scale) label(v float64) string {
	switch {
	case v == 0 && s.zero != "":
		return s.zero
	case s.unit == "B":
		return units.Exact(int64(v))
	case s.unit == "ns":
		return time.Duration(v).String()
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
