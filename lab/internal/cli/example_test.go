package cli_test

import (
	"fmt"
	"os"

	"github.com/sluice-go/sluice/lab/internal/cli"
	"github.com/sluice-go/sluice/lab/internal/lab"
)

func Example() {
	app := cli.App{
		Scenarios: []lab.Scenario{{Name: "framing/good", Title: "frames from memory"}},
		Stdout:    os.Stdout,
		Stderr:    os.Stderr,
	}
	fmt.Println(app.Main([]string{"bench", "--list"}) == cli.ExitOK)
	// Output:
	// framing/good  frames from memory
	// true
}
