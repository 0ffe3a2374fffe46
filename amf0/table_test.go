package amf0_test

import (
	"math"
	"strings"

	"github.com/sluice-go/sluice/amf0"
)

// wires are values and what they are on the wire. Parse, Append and the fuzz
// target work from this one table.
var wires = []struct {
	name  string
	wire  string
	value amf0.Value
}{
	{"number", "\x00\x40\x59\x00\x00\x00\x00\x00\x00", 100.0},
	{"negative zero", "\x00\x80\x00\x00\x00\x00\x00\x00\x00", math.Copysign(0, -1)},
	{"infinity", "\x00\x7f\xf0\x00\x00\x00\x00\x00\x00", math.Inf(1)},
	{"true", "\x01\x01", true},
	{"false", "\x01\x00", false},
	{"string", "\x02\x00\x07connect", "connect"},
	{"empty string", "\x02\x00\x00", ""},
	{"string of invalid UTF-8", "\x02\x00\x02\xff\xfe", "\xff\xfe"},
	{"longest short string", "\x02\xff\xff" + strings.Repeat("a", 65535), strings.Repeat("a", 65535)},
	{"long string", "\x0c\x00\x01\x00\x00" + strings.Repeat("b", 65536), strings.Repeat("b", 65536)},
	{"null", "\x05", nil},
	{"undefined", "\x06", amf0.Undefined{}},
	{"unsupported", "\x0d", amf0.Unsupported{}},
	{"reference", "\x07\x01\x02", amf0.Reference(0x102)},
	{"date", "\x0b\x42\x76\xbf\xbc\x5c\x6c\x00\x00\xff\xc4", amf0.Date{Milliseconds: 1563297171136, Zone: -60}},
	{"document", "\x0f\x00\x00\x00\x04<a/>", amf0.XML("<a/>")},
	{"object", "\x03\x00\x03app\x02\x00\x04live\x00\x01n\x01\x01\x00\x00\x09",
		amf0.Object{{Name: "app", Value: "live"}, {Name: "n", Value: true}}},
	{"empty object", "\x03\x00\x00\x09", amf0.Object{}},
	{"object with an empty name", "\x03\x00\x00\x05\x00\x00\x09", amf0.Object{{Name: "", Value: nil}}},
	{"object with a name twice", "\x03\x00\x01a\x01\x00\x00\x01a\x01\x01\x00\x00\x09",
		amf0.Object{{Name: "a", Value: false}, {Name: "a", Value: true}}},
	{"typed object", "\x10\x00\x01C\x00\x01a\x05\x00\x00\x09",
		amf0.TypedObject{Class: "C", Properties: amf0.Object{{Name: "a", Value: nil}}}},
	{"array with names", "\x08\x00\x00\x00\x01\x00\x05width\x00\x40\x84\x00\x00\x00\x00\x00\x00\x00\x00\x09",
		amf0.ECMAArray{{Name: "width", Value: 640.0}}},
	{"array", "\x0a\x00\x00\x00\x02\x05\x0a\x00\x00\x00\x01\x06",
		amf0.StrictArray{nil, amf0.StrictArray{amf0.Undefined{}}}},
	{"empty array", "\x0a\x00\x00\x00\x00", amf0.StrictArray{}},
}

// wrongs are inputs that Parse refuses, at once.
var wrongs = []struct {
	name string
	wire string
	want error
}{
	{"movie clip", "\x04", amf0.ErrSyntax},
	{"record set", "\x0e", amf0.ErrSyntax},
	{"AMF 3", "\x11\x01", amf0.ErrSyntax},
	{"an object's end", "\x09", amf0.ErrSyntax},
	{"no such marker", "\x12", amf0.ErrSyntax},
	{"no such marker", "\xff", amf0.ErrSyntax},
	{"an object's end in an array", "\x0a\x00\x00\x00\x01\x09", amf0.ErrSyntax},
	{"a named object's end", "\x03\x00\x01a\x09", amf0.ErrSyntax},
	{"33 arrays in each other", strings.Repeat("\x0a\x00\x00\x00\x01", 33) + "\x05", amf0.ErrTooDeep},
	{"33 objects in each other", strings.Repeat("\x03\x00\x01a", 33) + "\x05", amf0.ErrTooDeep},
	{"endless nesting", strings.Repeat("\x08\xff\xff\xff\xff\x00\x00", 1000), amf0.ErrTooDeep},
	{"65,536 values in an array", "\x0a\x00\x01\x00\x00" + strings.Repeat("\x05", 65536), amf0.ErrTooMany},
}
