package load

import (
	"strings"
	"testing"
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
		{"4K", 4096, 4096, "4KiB"},
		{"4 KiB", 4096, 4096, "4KiB"},
		{"4096B", 4096, 4096, "4KiB"},
		{"64MiB", 64 << 20, 64 << 20, "64MiB"},
		{"1025", 1025, 1025, "1025"},
		{"64..1024", 64, 1024, "64..1KiB"},
		{"1KiB..1MiB", 1024, 1 << 20, "1KiB..1MiB"},
		{"7..7", 7, 7, "7"},
		{" 64 .. 65 ", 64, 65, "64..65"},
	} {
		s, err := ParseSizes(c.text)
		if err != nil || s.Min != c.min || s.Max != c.max || s.String() != c.again {
			t.Errorf("%q: %+v, %v", c.text, s, err)
		}
	}
	for text, says := range map[string]string{
		"": "not a size", "x": `"x" is not a size`, "-5": "not a size", "1.5KiB": "not a size", "1e3": "not a size", "0x10": "not a size",
		"64..": "not a size", "..64": "not a size", "1..2..3": "not a size", "64-1024": "not a size", "18446744073709551616": "not a size",
		"0": "within 1 B and 64 MiB", "65MiB": "within 1 B and 64 MiB", "67108865": "within 1 B and 64 MiB", "4GiB": "within 1 B and 64 MiB", "64..32": "within 1 B and 64 MiB",
		strings.Repeat("x", 900): "not a size",
	} {
		if s, err := ParseSizes(text); err == nil || !strings.Contains(err.Error(), says) || len(err.Error()) > 200 {
			t.Errorf("%q: %+v, %v; want %q", text, s, err, says)
		}
	}
}

// Each length of a range comes as often, and neighbouring seeds draw other ones.
func TestLengthsAreDrawnEvenly(t *testing.T) {
	const n, draws = 16, 160_000
	var counts [n]int
	equal := 0
	a, b := Sizes{1, n}.Draw(7), Sizes{1, n}.Draw(8)
	for range draws {
		x := a()
		counts[x-1]++
		if x == b() {
			equal++
		}
	}
	for i, got := range counts {
		if got < draws/n*95/100 || got > draws/n*105/100 {
			t.Errorf("%d came %d times of %d", i+1, got, draws)
		}
	}
	if equal > draws/n*2 {
		t.Errorf("two seeds drew the same %d times of %d", equal, draws)
	}
	if again := (Sizes{1, n}).Draw(7); again() != (Sizes{1, n}).Draw(7)() {
		t.Error("one seed draws differently")
	}
}

func FuzzParseSizes(f *testing.F) {
	for _, text := range []string{"128", "4KiB", "64..1024", "1MiB..2MiB", "4K", "..", "-", "18446744073709551616B"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSizes(text)
		if err != nil {
			return
		}
		if again, err := ParseSizes(s.String()); err != nil || again != s {
			t.Errorf("%q, written as %q: %+v, %v", text, s, again, err)
		}
	})
}
