package config

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// errBeyond: the text has the right form, but its kind has no such value. The nearest one was
// set, so that the setting's limits can be said.
var errBeyond = errors.New("beyond what any setting can be")

// value is how a field is read and written as text.
type value interface {
	Set(text string) error
	String() string
	Type() string
}

func text(v *string) value            { return (*textValue)(v) }
func boolean(v *bool) value           { return (*boolValue)(v) }
func number(v *int) value             { return (*intValue)(v) }
func size[T byteCount](v *T) value    { return sizeValue[T]{v} }
func duration(v *time.Duration) value { return (*durationValue)(v) }
func list(v *[]string) value          { return (*listValue)(v) }

type textValue string

func (v *textValue) Set(text string) error { *v = textValue(text); return nil }
func (v *textValue) String() string        { return string(*v) }
func (*textValue) Type() string            { return "string" }

type boolValue bool

func (v *boolValue) Set(text string) error {
	switch strings.ToLower(text) { // YAML has True and TRUE too
	case "true", "1", "on", "yes":
		*v = true
	case "false", "0", "off", "no":
		*v = false
	default:
		return fmt.Errorf("%q is neither true nor false", text)
	}
	return nil
}
func (v *boolValue) String() string { return strconv.FormatBool(bool(*v)) }
func (*boolValue) Type() string     { return "bool" }

type intValue int

func (v *intValue) Set(text string) error {
	n, err := strconv.Atoi(text)
	if errors.Is(err, strconv.ErrRange) {
		*v = intValue(n)
		return errBeyond
	}
	if err != nil {
		return fmt.Errorf("%.60q is not a whole number", text)
	}
	*v = intValue(n)
	return nil
}
func (v *intValue) String() string { return strconv.Itoa(int(*v)) }
func (*intValue) Type() string     { return "int" }

// byteCount is what a number of bytes is kept in: of memory an int, of disks and machines an int64, since those are
// larger than what a 32-bit program has room for.
type byteCount interface{ int | int64 }

// sizeValue is a number of bytes, with KiB, MiB or GiB.
type sizeValue[T byteCount] struct{ v *T }

// most is the largest there can be.
func (sizeValue[T]) most() int64 {
	if most := int64(math.MaxInt64); int64(T(most)) == most {
		return most
	}
	return math.MaxInt32
}

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

func (v sizeValue[T]) Set(text string) error {
	number, unit := text, int64(1)
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || n < 0 {
		return fmt.Errorf("%.60q is not a size, such as 65536, 512KiB, 16MiB or 2GiB", text)
	}
	if err != nil || n > v.most()/unit {
		*v.v = T(v.most())
		return errBeyond
	}
	*v.v = T(n * unit)
	return nil
}

func (v sizeValue[T]) String() string {
	n := int64(*v.v)
	for _, u := range sizeUnits {
		if n > 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}
func (sizeValue[T]) Type() string { return "size" }

type durationValue time.Duration

// aTime is what time.ParseDuration takes, unless it is too long.
var aTime = regexp.MustCompile(`^[-+]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`)

func (v *durationValue) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil && aTime.MatchString(text) {
		*v = math.MaxInt64
		if text[0] == '-' {
			*v = math.MinInt64
		}
		return errBeyond
	}
	if err != nil {
		return fmt.Errorf("%.60q is not a time with its unit, such as 80ms or 5s", text)
	}
	*v = durationValue(d)
	return nil
}
func (v *durationValue) String() string { return time.Duration(*v).String() }
func (*durationValue) Type() string     { return "duration" }

// listValue is a list with commas between its items.
type listValue []string

func (v *listValue) Set(text string) error {
	*v = nil
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			*v = append(*v, item)
		}
	}
	return nil
}
func (v *listValue) String() string { return strings.Join(*v, ",") }
func (*listValue) Type() string     { return "list" }
