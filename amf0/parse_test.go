package amf0_test

import (
	"errors"
	"io"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/amf0"
)

func TestParseAndAppendAreEachOther(t *testing.T) {
	for _, c := range wires {
		t.Run(c.name, func(t *testing.T) {
			v, rest, err := amf0.Parse([]byte(c.wire + "more"))
			if err != nil || string(rest) != "more" {
				t.Fatalf("%v, rest %q", err, rest)
			}
			if !reflect.DeepEqual(v, c.value) {
				t.Errorf("parsed %#v, want %#v", v, c.value)
			}
			p, err := amf0.Append([]byte("before"), c.value)
			if err != nil || string(p) != "before"+c.wire {
				t.Errorf("appended %q, %v, want %q", p, err, c.wire)
			}
		})
	}
}

func TestEveryEarlyEndIsUnexpected(t *testing.T) {
	for _, c := range wires {
		for n := range len(c.wire) {
			if n > 100 && n < len(c.wire)-100 {
				continue
			}
			want := io.ErrUnexpectedEOF
			if n == 0 {
				want = io.EOF
			}
			p := []byte(c.wire[:n])
			v, rest, err := amf0.Parse(p)
			if !errors.Is(err, want) || v != nil || len(rest) != n {
				t.Errorf("%s, %d of %d bytes: %v, %v, %d left", c.name, n, len(c.wire), v, err, len(rest))
			}
		}
	}
}

func TestWrongInput(t *testing.T) {
	for _, c := range wrongs {
		v, rest, err := amf0.Parse([]byte(c.wire))
		if !errors.Is(err, c.want) || v != nil || string(rest) != c.wire {
			t.Errorf("%s: %v, %v, want %v", c.name, v, err, c.want)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "amf0: ") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestErrorsSayWhere(t *testing.T) {
	for wire, says := range map[string]string{
		"\x03\x00\x01a\x04": "byte 4",
		"\x02\x00\x05abc":   "byte 3",
		"\x05\x05\x12":      "byte 2",
	} {
		if _, err := amf0.ParseAll([]byte(wire)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v does not say %s", wire, err, says)
		}
	}
}

func TestDepthThatIsAllowed(t *testing.T) {
	p := []byte(strings.Repeat("\x0a\x00\x00\x00\x01", amf0.DefaultDepth) + "\x05")
	v, _, err := amf0.Parse(p)
	if err != nil {
		t.Fatal(err)
	}
	again, err := amf0.Append(nil, v)
	if err != nil || string(again) != string(p) {
		t.Errorf("%q, %v", again, err)
	}
	if _, err := amf0.Append(nil, amf0.StrictArray{v}); !errors.Is(err, amf0.ErrTooDeep) {
		t.Errorf("one deeper: %v", err)
	}
}

func TestLimits(t *testing.T) {
	three := []byte("\x0a\x00\x00\x00\x02\x05\x05")
	for _, c := range []struct {
		limits amf0.Limits
		want   error
	}{
		{amf0.Limits{Values: 3, Depth: 1, Bytes: 7}, nil},
		{amf0.Limits{Values: 2}, amf0.ErrTooMany},
		{amf0.Limits{Bytes: 6}, amf0.ErrTooLong},
	} {
		if _, _, err := c.limits.Parse(three); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.limits, err, c.want)
		}
	}
	object := []byte("\x03\x00\x01a\x05\x00\x00\x09")
	for n := 1; n <= len(object); n++ {
		if _, _, err := (amf0.Limits{Bytes: n}).Parse(object); (err == nil) != (n == len(object)) {
			t.Errorf("an object of %d bytes, limit %d: %v", len(object), n, err)
		}
	}
	deep := []byte("\x0a\x00\x00\x00\x01\x0a\x00\x00\x00\x00")
	if _, _, err := (amf0.Limits{Depth: 1}).Parse(deep); !errors.Is(err, amf0.ErrTooDeep) {
		t.Error(err)
	}
	// A message's values count together.
	all, err := amf0.Limits{Values: 2}.ParseAll([]byte("\x05\x05\x05"))
	if !errors.Is(err, amf0.ErrTooMany) || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
}

func TestParseAll(t *testing.T) {
	all, err := amf0.ParseAll([]byte("\x02\x00\x07connect\x00\x3f\xf0\x00\x00\x00\x00\x00\x00\x03\x00\x00\x09"))
	if err != nil || !reflect.DeepEqual(all, []amf0.Value{"connect", 1.0, amf0.Object{}}) {
		t.Errorf("%#v, %v", all, err)
	}
	if all, err := amf0.ParseAll(nil); len(all) != 0 || err != nil {
		t.Errorf("of nothing: %v, %v", all, err)
	}
	all, err = amf0.ParseAll([]byte("\x05\x01"))
	if len(all) != 1 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut: %v, %v", all, err)
	}
}

func TestWhatIsParsedIsACopy(t *testing.T) {
	p := []byte("\x03\x00\x01a\x02\x00\x01b\x00\x00\x09")
	v, _, err := amf0.Parse(p)
	if err != nil {
		t.Fatal(err)
	}
	clear(p)
	if o := v.(amf0.Object); o.String("a") != "b" {
		t.Errorf("%#v", o)
	}
}

func TestLookup(t *testing.T) {
	o := amf0.Object{{"a", 1.0}, {"b", "x"}, {"a", 2.0}, {"n", nil}}
	a := amf0.ECMAArray(o)
	for name, got := range map[string]any{
		"the last a":        o.Number("a") + a.Number("a"),
		"b as a string":     o.String("b") + a.String("b"),
		"b as a number":     o.Number("b"),
		"a as a string":     o.String("a"),
		"what is not there": o.String("c"),
	} {
		want := map[string]any{"the last a": 4.0, "b as a string": "xx", "b as a number": 0.0, "a as a string": "", "what is not there": ""}[name]
		if got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if v, ok := o.Get("n"); v != nil || !ok {
		t.Errorf("null: %v, %t", v, ok)
	}
	if _, ok := a.Get("c"); ok {
		t.Error("found what is not there")
	}
}

func TestAppendRefuses(t *testing.T) {
	cycle := amf0.StrictArray{nil}
	cycle[0] = cycle
	long := strings.Repeat("n", math.MaxUint16+1)
	for _, c := range []struct {
		v    amf0.Value
		want error
	}{
		{uint8(1), amf0.ErrType},
		{amf0.Object{{"a", []byte{}}}, amf0.ErrType},
		{amf0.Object{{long, nil}}, amf0.ErrTooLong},
		{amf0.TypedObject{Class: long}, amf0.ErrTooLong},
		{cycle, amf0.ErrTooDeep},
	} {
		p, err := amf0.Append([]byte("before"), c.v)
		if !errors.Is(err, c.want) || string(p) != "before" {
			t.Errorf("%T: %q, %v, want %v", c.v, p, err, c.want)
		}
	}
	if p, err := amf0.Append(nil, 3); err != nil || string(p) != "\x00\x40\x08\x00\x00\x00\x00\x00\x00" {
		t.Errorf("an int: %q, %v", p, err)
	}
}

// TestMemoryFollowsTheInput gives Parse the inputs that allocate most for few
// bytes, whole and cut off, with counts that are too large.
func TestMemoryFollowsTheInput(t *testing.T) {
	// A null is one byte and an interface of 16, and a slice that grows by
	// quarters leaves four times itself behind.
	const most, fixed = 96, 16 << 10
	for name, p := range map[string]string{
		"claimed array":      "\x0a\xff\xff\xff\xff",
		"claimed string":     "\x0c\xff\xff\xff\xff",
		"claimed arrays":     strings.Repeat("\x0a\x00\x00\xff\xff", 31) + strings.Repeat("\x0a\x00\x00\xff\xff", 20_000),
		"nulls":              "\x0a\x00\x00\xff\xf0" + strings.Repeat("\x05", 0xfff0),
		"nulls of a command": strings.Repeat("\x05", 60_000),
		"empty names":        "\x03" + strings.Repeat("\x00\x00\x05", 60_000) + "\x00\x00\x09",
		"empty objects":      strings.Repeat("\x03\x00\x00\x09", 60_000),
		"empty arrays":       strings.Repeat("\x0a\x00\x00\x00\x00", 60_000),
		"too many":           strings.Repeat("\x05", 1<<20),
		"short strings":      strings.Repeat("\x02\x00\x01a", 60_000),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = amf0.ParseAll([]byte(p))
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > uint64(most*len(p)+fixed) {
			t.Errorf("%s: %d bytes in all for %d of input", name, got, len(p))
		}
	}
}
