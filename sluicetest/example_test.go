package sluicetest_test

import (
	"bufio"
	"fmt"
	"os"
	"testing"

	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// A parser must find the same in every chunking of its input.
func Example() {
	input := []byte("one\ntwo\nthree\n")
	for name, r := range sluicetest.Chunkings(input) {
		lines := 0
		for s := bufio.NewScanner(r); s.Scan(); {
			lines++
		}
		if lines != 3 {
			fmt.Fprintf(os.Stderr, "%s: %d lines\n", name, lines)
			return
		}
	}
	fmt.Println("3 lines in all chunkings")
	// Output: 3 lines in all chunkings
}

func ExampleNoLeaks() {
	alloc := mem.New(mem.Options{Name: "example"})
	// In a test file this is func TestForward(t *testing.T).
	test := func(t *testing.T) {
		sluicetest.NoLeaks(t, alloc)
		b := alloc.Get(1000)
		b.Release() // without this line the test fails and names the line above
	}
	_ = test
}
