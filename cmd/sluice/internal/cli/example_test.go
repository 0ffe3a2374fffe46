package cli_test

import (
	"fmt"
	"os"

	"github.com/sluice-go/sluice/cmd/sluice/internal/cli"
)

func Example() {
	app := cli.App{Stdout: os.Stdout, Stderr: os.Stderr}
	fmt.Println(app.Main([]string{"token", "--play"}) == cli.ExitUsage)
	// Output:
	// true
}
