// Command sluice measures, on the machine at hand, what reading and moving
// bytes costs with this library beside other ways to do it, puts load on servers,
// finds out what slows them, and serves live streams.
package main

import (
	"maps"
	"os"

	"github.com/sluice-go/sluice/cmd/sluice/internal/cli"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab/calibrate"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab/diagnose/evidence"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab/planted"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab/scenarios"
)

func main() {
	all := append(scenarios.All(), planted.All()...)
	children := scenarios.Children()
	maps.Copy(children, calibrate.Children())
	maps.Copy(children, evidence.Children(all))
	app := cli.App{
		Scenarios: all,
		Children:  children,
		Stdout:    os.Stdout,
		Stderr:    os.Stderr,
	}
	os.Exit(app.Main(os.Args[1:]))
}
