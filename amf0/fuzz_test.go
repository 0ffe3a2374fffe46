package amf0_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/sluice-go/sluice/amf0"
)

// FuzzAMF0 parses anything. What is a value is written again, to bytes that
// parse to what is written the same.
func FuzzAMF0(f *testing.F) {
	for _, c := range wires {
		if len(c.wire) < 1000 {
			f.Add([]byte(c.wire))
		}
	}
	for _, c := range wrongs {
		if len(c.wire) < 1000 {
			f.Add([]byte(c.wire))
		}
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		given := bytes.Clone(p)
		v, rest, err := amf0.Parse(p)
		if !bytes.Equal(p, given) {
			t.Fatal("the input was written to")
		}
		if err != nil {
			known := false
			for _, e := range []error{io.EOF, io.ErrUnexpectedEOF, amf0.ErrSyntax, amf0.ErrTooDeep, amf0.ErrTooMany, amf0.ErrTooLong} {
				known = known || errors.Is(err, e)
			}
			if !known || len(rest) != len(p) {
				t.Fatalf("%v, %d of %d bytes left", err, len(rest), len(p))
			}
			return
		}
		if len(rest) >= len(p) || !bytes.HasSuffix(p, rest) {
			t.Fatalf("%d of %d bytes left", len(rest), len(p))
		}
		wire, err := amf0.Append(nil, v)
		if err != nil {
			t.Fatalf("%#v cannot be appended: %v", v, err)
		}
		again, rest, err := amf0.Parse(wire)
		if err != nil || len(rest) != 0 {
			t.Fatalf("%q: %v, %d bytes left", wire, err, len(rest))
		}
		twice, err := amf0.Append(nil, again)
		if err != nil || !bytes.Equal(twice, wire) {
			t.Fatalf("%q became %q, %v", wire, twice, err)
		}
	})
}
