// Command sluice serves live streams, makes the tokens that its streams ask
// for, and looks into FLV files.
package main

import (
	"os"

	"github.com/sluice-go/sluice/cmd/sluice/internal/cli"
)

func main() {
	app := cli.App{Stdout: os.Stdout, Stderr: os.Stderr}
	os.Exit(app.Main(os.Args[1:]))
}
