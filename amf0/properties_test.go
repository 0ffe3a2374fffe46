package amf0_test

import (
	"slices"
	"testing"

	"github.com/sluice-go/sluice/amf0"
)

func TestPropertiesAreThoseOfEveryKindOfObject(t *testing.T) {
	want := amf0.Object{{Name: "width", Value: 640.0}, {Name: "stereo", Value: true}}
	for _, v := range []amf0.Value{want, amf0.ECMAArray(want), amf0.TypedObject{Class: "Info", Properties: want}} {
		p, err := amf0.Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		parsed, _, err := amf0.Parse(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := amf0.Properties(parsed); !slices.Equal(got, want) {
			t.Errorf("%T has properties %v", v, got)
		}
	}
	for _, v := range []amf0.Value{nil, 1.0, "text", amf0.StrictArray{1.0}, amf0.Undefined{}} {
		if got := amf0.Properties(v); got != nil {
			t.Errorf("%T has properties %v", v, got)
		}
	}
}
