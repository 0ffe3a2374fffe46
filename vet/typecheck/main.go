// Command typecheck reads packages with their tests, and what they import, from source for the system that GOOS and
// GOARCH name, and prints what does not compile. To compile what the programs import takes minutes.
package main

import (
	"fmt"
	"os"

	"github.com/sluice-go/sluice/vet/internal/driver"
)

func main() {
	// Nothing is analysed, so no package beside those that are named is read whole, for what an analyzer knows of it.
	known := func(string) bool { return true }
	if _, err := driver.Load(driver.LoadOptions{Tests: true}, known, os.Args[1:]...); err != nil {
		fmt.Fprintln(os.Stderr, "typecheck:", err)
		os.Exit(1)
	}
}
