package flv_test

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/flv"
)

func TestScript(t *testing.T) {
	wire := "\x02\x00\x0aonMetaData\x08\x00\x00\x00\x01\x00\x05width\x00\x40\x84\x00\x00\x00\x00\x00\x00\x00\x00\x09"
	value := amf0.ECMAArray{{Name: "width", Value: 640.0}}
	name, values, err := flv.ParseScript([]byte(wire))
	if err != nil || name != flv.OnMetaData || !reflect.DeepEqual(values, []amf0.Value{value}) {
		t.Errorf("%q, %#v, %v", name, values, err)
	}
	p, err := flv.AppendScript([]byte("x"), flv.OnMetaData, value)
	if err != nil || string(p) != "x"+wire {
		t.Errorf("%q, %v", p, err)
	}
	if p, err := flv.AppendScript([]byte("x"), "name", make(chan int)); !errors.Is(err, amf0.ErrType) || string(p) != "x" {
		t.Errorf("%q, %v", p, err)
	}
	name, values, err = flv.ParseScript([]byte("\x02\x00\x01n"))
	if name != "n" || len(values) != 0 || err != nil {
		t.Errorf("without a value: %q, %v, %v", name, values, err)
	}
	for wire, want := range map[string]error{
		"":                          io.ErrUnexpectedEOF,
		"\x05":                      flv.ErrSyntax,
		"\x02\x00\x09short":         io.ErrUnexpectedEOF,
		"\x02\x00\x01n\x11":         amf0.ErrSyntax,
		"\x02\x00\x01n\x05\x0a\x00": io.ErrUnexpectedEOF,
	} {
		if _, _, err := flv.ParseScript([]byte(wire)); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", wire, err, want)
		}
	}
	name, values, err = flv.ParseScript([]byte("\x02\x00\x01n\x05\x06\x01"))
	if name != "n" || len(values) != 2 || err == nil {
		t.Errorf("values before an error: %q, %v, %v", name, values, err)
	}
}

func TestStripSetDataFrame(t *testing.T) {
	for _, c := range []struct{ wire, want string }{
		{"\x02\x00\x0d@setDataFrame\x02\x00\x0aonMetaData\x05", "\x02\x00\x0aonMetaData\x05"},
		{"\x0c\x00\x00\x00\x0d@setDataFrame\x05", "\x05"},
		{"\x02\x00\x0d@setDataFrame", ""},
		{"\x02\x00\x0aonMetaData\x05", "\x02\x00\x0aonMetaData\x05"},
		{"\x02\x00\x0d@setDataFrams\x05", "\x02\x00\x0d@setDataFrams\x05"},
		{"\x02\x00\x0e@setDataFrame2\x05", "\x02\x00\x0e@setDataFrame2\x05"},
		{"\x02\x00\x0d@set", "\x02\x00\x0d@set"},
		{"\x0c\x00\x00\x01\x0d@setDataFrame\x05", "\x0c\x00\x00\x01\x0d@setDataFrame\x05"},
		{"\x02\x00", "\x02\x00"},
		{"", ""},
	} {
		p := []byte(c.wire)
		if got := flv.StripSetDataFrame(p); string(got) != c.want || len(got) > 0 && &got[len(got)-1] != &p[len(p)-1] {
			t.Errorf("%q: %q", c.wire, got)
		}
	}
	long := []byte(strings.Repeat("x", 1000))
	if n := testing.AllocsPerRun(10, func() { flv.StripSetDataFrame(long) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
