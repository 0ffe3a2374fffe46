// Command lab measures, on this machine, what reading and moving bytes
// costs with this library beside other ways to do it, puts load on servers, and
// finds out what slows them.
package main

import (
	"os"

	"github.com/sluice-go/sluice/lab/internal/cli"
	"github.com/sluice-go/sluice/lab/internal/scenarios"
)

func main() {
	app := cli.App{
		Scenarios: scenarios.All(),
		Children:  scenarios.Children(),
		Stdout:    os.Stdout,
		Stderr:    os.Stderr,
	}
	os.Exit(app.Main(os.Args[1:]))
}
