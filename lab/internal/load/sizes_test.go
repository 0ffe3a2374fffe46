package load

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

func TestSizesAreRead(t *testing.T) {
	for _, c := range []struct {
		text     string
		min, max int
		again    string
	}{
		{"128", 128, 128, "128"},
		{"1", 1, 1, "1"},
		{"4KiB", 4096, 4096, "4KiB"},
		{"4kib", 4096, 4096, "4KiB"},
		{"4 KiB", 4096, 4096, "4KiB"},
		{"4096B", 4096, 4096, "4KiB"},
		{"4kB", 4000, 4000, "4000"},
		{"1MB", 1_000_000, 1_000_000, "1000000"},
		{"64MiB", 64 << 20, 64 << 20, "64MiB"},
		{"1025", 1025, 1025, "1025"},
		{"64..1024", 64, 1024, "64..1KiB"},
		{"64-1024", 64, 1024, "64..1KiB"},
		{"1KiB..1MiB", 1024, 1 << 20, "1KiB..1MiB"},
		{"7..7", 7, 7, "7"},
		{" 64 .. 65 ", 64, 65, "64..65"},
	} {
		s, err := ParseSizes(c.text)
		if err != nil || s.Min != c.min || s.Max != c.max || s.Check() != nil {
			t.Errorf("%q: %+v, %v", c.text, s, err)
			continue
		}
		if s.String() != c.again {
			t.Errorf("%q is written as %q", c.text, s)
		}
		if twice, err := ParseSizes(s.String()); err != nil || !reflect.DeepEqual(twice, s) {
			t.Errorf("%q read again: %+v, %v", s, twice, err)
		}
	}
}

func TestSizesThatAreNone(t *testing.T) {
	for text, says := range map[string]string{
		"":                     "no size",
		"x":                    `"x" is no size`,
		"4K":                   "units are B, kB, KiB",
		"4GiB":                 "no size",
		"0":                    "0 bytes",
		"-5":                   "no size",
		"+5":                   "no size",
		"1.5KiB":               "no size",
		"1e3":                  "no size",
		"0x10":                 "no size",
		"65MiB":                "more than 64MiB",
		"67108865":             "more than 64MiB",
		"18446744073709551616": "more than 64MiB",
		"9999999999999999MiB":  "more than 64MiB",
		"64..":                 "no size",
		"..64":                 "no size",
		"64..32":               "down to",
		"1..2..3":              "no size",
		"@":                    "",
		"@no such file":        "no such file",
		strings.Repeat("9", 9): "more than",
	} {
		if s, err := ParseSizes(text); err == nil || !strings.Contains(err.Error(), says) || len(err.Error()) > 200 {
			t.Errorf("%q: %+v, %v; want %q", text, s, err, says)
		}
	}
}

func TestHistograms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sizes")
	text := "# what clients send\r\n64 10\n\n  4KiB\t2.5 # pages\n1MiB,0.5\n64 2\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := ParseSizes("@" + path)
	want := Sizes{Min: 64, Max: 1 << 20, Weights: []Weight{{64, 12}, {4096, 2.5}, {1 << 20, 0.5}}}
	if err != nil || !reflect.DeepEqual(s, want) {
		t.Fatalf("%+v, %v", s, err)
	}
	if got := s.String(); got != "histogram of 3 sizes, 64..1MiB" {
		t.Error(got)
	}
	if got, want := s.Mean(), (64*12+4096*2.5+(1<<20)*0.5)/15; math.Abs(got-want) > 1e-6 {
		t.Errorf("mean %v, want %v", got, want)
	}
	encoded, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var again Sizes
	if err := json.Unmarshal(encoded, &again); err != nil || !reflect.DeepEqual(again, s) {
		t.Errorf("%s: %+v, %v", encoded, again, err)
	}
	if _, err := ParseSizes("@" + t.TempDir()); err == nil {
		t.Error("a directory is taken for a histogram")
	}
}

func TestHistogramsSayWhichLineIsWrong(t *testing.T) {
	many := strings.Builder{}
	for i := range MaxWeights + 1 {
		many.WriteString(strconv.Itoa(i+1) + " 1\n")
	}
	for _, c := range []struct{ text, says string }{
		{"", ": there is no size"},
		{"# nothing\n\n", ": there is no size"},
		{"64\n", ":1: want a size and its weight, got \"64\""},
		{"64 1\n\n64 1 1\n", ":3: want"},
		{"64 1\nmany 1\n", ":2: \"many\" is no size"},
		{"64 -1\n", ":1: a weight of -1"},
		{"64 NaN\n", ":1: a weight of NaN"},
		{"64 Inf\n", ":1: a weight of Inf"},
		{"64 1e300\n", ":1: a weight of 1e300"},
		{"64 x\n", ":1: a weight of x"},
		{"64 0\n65 0\n", "weights of 0 together"},
		{"65MiB 1\n", ":1: a size of 65MiB"},
		{many.String(), ":4097: more than 4096"},
		{"1 1\n" + strings.Repeat("x", 70_000), ":2: a line of more than"},
		{strings.Repeat("#\n", mostHistogram), ": longer than 1MiB"},
	} {
		if s, err := parseHistogram(strings.NewReader(c.text)); err == nil || !strings.HasPrefix(err.Error(), c.says) && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.40q: %d sizes, %v; want %q", c.text, len(s.Weights), err, c.says)
		}
	}
	broken := errors.New("broken")
	if _, err := parseHistogram(io.MultiReader(strings.NewReader("1 1\n"), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Error(err)
	}
	if s, err := parseHistogram(iotest.OneByteReader(strings.NewReader("1 1\n2 2"))); err != nil || len(s.Weights) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestWeightsAreChecked(t *testing.T) {
	for _, s := range []Sizes{
		{Min: 1, Max: 10, Weights: []Weight{{11, 1}}},
		{Min: 5, Max: 10, Weights: []Weight{{1, 1}}},
		{Weights: []Weight{{5, 1}}},
		Weighted([]Weight{{0, 1}}),
		Weighted([]Weight{{MaxSize + 1, 1}}),
		Weighted([]Weight{{5, 0}}),
		Weighted([]Weight{{5, -1}, {6, 2}}),
		Weighted([]Weight{{5, math.NaN()}}),
		Weighted([]Weight{{5, math.MaxFloat64}, {6, math.MaxFloat64}}),
		Weighted(make([]Weight, MaxWeights+1)),
	} {
		if s.Check() == nil {
			t.Errorf("passes: %+v", s)
		}
	}
	if s := Weighted([]Weight{{9, 1}, {5, 3}}); s.Check() != nil || s.Min != 5 || s.Max != 9 {
		t.Errorf("%+v, %v", s, s.Check())
	}
}

// FuzzParseSizes holds that what is read passes Check and reads the same when
// written again.
func FuzzParseSizes(f *testing.F) {
	for _, text := range []string{"128", "4KiB", "64..1024", "64-1024", "1MB..2MiB", "4K", "..", "-", "18446744073709551616B"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.HasPrefix(text, "@") {
			return // names a file
		}
		s, err := ParseSizes(text)
		if err != nil {
			return
		}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		if again, err := ParseSizes(s.String()); err != nil || !reflect.DeepEqual(again, s) {
			t.Errorf("%q, written as %q: %+v, %v", text, s, again, err)
		}
	})
}

// FuzzHistogram holds that what is read passes Check and draws its own sizes.
func FuzzHistogram(f *testing.F) {
	for _, text := range []string{"64 1\n128 2\n", "# none\n", "4KiB,1\n4096 3", "1 1e15\n2 1e-300\n3 0"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parseHistogram(strings.NewReader(string(text)))
		if err != nil {
			return
		}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		is := map[int]bool{}
		for _, w := range s.Weights {
			is[w.Bytes] = is[w.Bytes] || w.Weight > 0
		}
		draw := s.Draw(1)
		for range 100 {
			if n := draw(); !is[n] {
				t.Fatalf("%d bytes were drawn from %q", n, text)
			}
		}
		if m := s.Mean(); !(m >= float64(s.Min)*0.999 && m <= float64(s.Max)*1.001) {
			t.Errorf("mean %v of %d..%d", m, s.Min, s.Max)
		}
	})
}
