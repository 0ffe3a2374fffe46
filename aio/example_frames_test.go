package aio_test

import (
	"fmt"

	"github.com/sluice-go/sluice/aio"
)

// Frames with a length of two bytes, cut as the network likes.
func ExampleFrames() {
	frames := aio.Frames{Size: aio.LengthPrefix(2), Limit: 1000}
	show := func(frame []byte) error {
		fmt.Printf("%s\n", frame[2:])
		return nil
	}
	for _, read := range []string{"\x00\x05hel", "lo\x00\x03all", "\x00"} {
		if err := frames.Add([]byte(read), show); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(frames.Buffered(), "byte of the next one")
	frames.Release()
	// Output:
	// hello
	// all
	// 1 byte of the next one
}
