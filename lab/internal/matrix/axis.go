package matrix

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// scale is what the values of an axis are.
type scale struct {
	name, unit string
	all, quick []float64 // by default and with a coarse grid, ascending; 0 of a rate is last
	least      float64   // of what may be asked for
	most       float64
	zero       string // what 0 is called; empty where there is none
	bytes      bool
}

// maxValues bounds an axis.
const maxValues = 32

// axis makes the axis of a choice: nothing for all values, values separated by
// commas, or ranges (4KiB..64KiB) of those that there are by default.
func (s *scale) axis(choice string, quick bool) (Axis, error) {
	values := s.all
	if quick {
		values = s.quick
	}
	if choice != "" {
		var err error
		if values, err = s.choose(choice); err != nil {
			return Axis{}, err
		}
	}
	a := Axis{Name: s.name, Unit: s.unit, Values: slices.Clone(values)}
	for _, v := range values {
		a.Labels = append(a.Labels, s.label(v))
	}
	return a, nil
}

func (s *scale) choose(choice string) ([]float64, error) {
	var values []float64
	for part := range strings.SplitSeq(choice, ",") {
		first, last, isRange := strings.Cut(part, "..")
		from, err := s.parse(first)
		if err != nil {
			return nil, err
		}
		if !isRange {
			values = append(values, from)
			continue
		}
		to, err := s.parse(last)
		if err != nil {
			return nil, err
		}
		found := false
		for _, v := range s.all {
			if s.rank(v) >= s.rank(from) && s.rank(v) <= s.rank(to) {
				values, found = append(values, v), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no %s of the grid is within %s", s.name, part)
		}
	}
	slices.SortFunc(values, func(a, b float64) int {
		if s.rank(a) < s.rank(b) {
			return -1
		}
		return 1
	})
	if values = slices.Compact(values); len(values) > maxValues {
		return nil, fmt.Errorf("%d values of %s, at most %d", len(values), s.name, maxValues)
	}
	return values, nil
}

// rank orders values: a rate of 0 is the highest.
func (s *scale) rank(v float64) float64 {
	if v == 0 && len(s.all) > 0 && s.all[len(s.all)-1] == 0 {
		return math.Inf(1)
	}
	return v
}

// byteUnits are those of bytes, longer names first.
var byteUnits = []struct {
	name string
	of   float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"B", 1}}

// parse reads a value as label writes it, and with shorter units.
func (s *scale) parse(text string) (float64, error) {
	text = strings.TrimSpace(text)
	if s.zero != "" && (text == s.zero || text == "0") {
		return 0, nil
	}
	number, factor := text, 1.0
	if s.bytes {
		for _, unit := range byteUnits {
			if cut, ok := strings.CutSuffix(text, unit.name); ok {
				number, factor = cut, unit.of
				break
			}
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is no %s", text, s.name)
	}
	if v *= factor; v < s.least || v > s.most {
		return 0, fmt.Errorf("a %s of %s is not within %s and %s", s.name, text, s.label(s.least), s.label(s.most))
	}
	if s.unit != "requests/s" && v != math.Trunc(v) {
		return 0, fmt.Errorf("a %s of %s is no whole number", s.name, text)
	}
	return v, nil
}

func (s *scale) label(v float64) string {
	switch {
	case v == 0 && s.zero != "":
		return s.zero
	case s.bytes:
		return size(v)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// size writes a number of bytes exactly.
func size(v float64) string {
	for _, u := range []struct {
		unit string
		of   float64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if v >= u.of && math.Mod(v, u.of) == 0 {
			return strconv.FormatFloat(v/u.of, 'f', -1, 64) + " " + u.unit
		}
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + " B"
}
