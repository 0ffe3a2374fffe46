package amf0_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/amf0"
)

// Each finds in every value that has properties what Parse does, and errors where it has them.
func TestEachFindsWhatParseDoes(t *testing.T) {
	for _, c := range wires {
		v, _, err := amf0.Parse([]byte(c.wire))
		if err != nil {
			t.Fatal(err)
		}
		want := amf0.Properties(v)
		var got amf0.Object
		err = amf0.Each([]byte(c.wire), func(name, value []byte) bool {
			v, rest, err := amf0.Parse(value)
			if err != nil || len(rest) != 0 {
				t.Errorf("%s: %q has the value %q: %v", c.name, name, value, err)
			}
			got = append(got, amf0.Property{Name: string(name), Value: v})
			return true
		})
		if (err == nil) != (want != nil) || err != nil && !errors.Is(err, amf0.ErrSyntax) || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, want)
		}
	}
	for _, c := range wrongs {
		wire := "\x03\x00\x01x" + c.wire + "\x00\x00\x09"
		_, _, want := amf0.Parse([]byte(wire))
		err := amf0.Each([]byte(wire), func(_, _ []byte) bool { return true })
		if err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("%s: %v, want %v", c.name, err, want)
		}
	}
	whole := "\x10\x00\x01C\x00\x01a\x03\x00\x01b\x02\x00\x01c\x00\x00\x09\x00\x00\x09"
	for n := range len(whole) {
		if err := amf0.Each([]byte(whole[:n]), func(_, _ []byte) bool { return true }); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	calls := 0
	if err := amf0.Each([]byte(whole), func(_, _ []byte) bool { calls++; return false }); err != nil || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func TestEachMakesNothing(t *testing.T) {
	p := []byte("\x03" + strings.Repeat("\x00\x01a\x02\x00\x04text\x00\x01b\x0a\x00\x00\x00\x01\x00\x40\x59\x00\x00\x00\x00\x00\x00", 10_000) + "\x00\x00\x09")
	n := 0
	made := testing.AllocsPerRun(3, func() {
		n = 0
		if err := amf0.Each(p, func(_, _ []byte) bool { n++; return true }); err != nil {
			t.Fatal(err)
		}
	})
	if n != 20_000 || made > 10 {
		t.Errorf("%d properties, %v allocations", n, made)
	}
}
