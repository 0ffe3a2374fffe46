package amf0_test

import (
	"fmt"

	"github.com/sluice-go/sluice/amf0"
)

// A command of RTMP is a row of values.
func Example() {
	var p []byte
	for _, v := range []amf0.Value{"connect", 1, amf0.Object{{Name: "app", Value: "live"}}} {
		var err error
		if p, err = amf0.Append(p, v); err != nil {
			fmt.Println(err)
			return
		}
	}

	values, err := amf0.ParseAll(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	if o, ok := values[2].(amf0.Object); ok {
		fmt.Println(values[0], values[1], o.String("app"))
	}
	// Output: connect 1 live
}
