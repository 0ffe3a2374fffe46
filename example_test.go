package sluice_test

import (
	"fmt"
	"io"
	"strings"

	"github.com/sluice-go/sluice"
)

// Frames with their length before them. Next lends each where it lies; ReadBuf
// would hand it out to be kept.
func Example() {
	stream := "\x00\x05first\x00\x06second"
	r := sluice.NewBufReader(strings.NewReader(stream))
	defer r.Recycle()
	for {
		n, err := r.ReadBE(2)
		if err == io.EOF {
			break // between two frames
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		frame, err := r.Next(n)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s\n", frame) // borrowed until the next call on r
	}
	// Output:
	// first
	// second
}
