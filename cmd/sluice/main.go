// Command sluice measures, on the machine at hand, what reading and moving
// bytes costs with this library beside other ways to do it.
package main

import (
	"os"

	"github.com/sluice-go/sluice/cmd/sluice/internal/cli"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab/scenarios"
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
