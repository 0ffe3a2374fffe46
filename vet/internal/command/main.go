// Package command is sluicevet: a tool of go vet and a command of its own.
package command

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/sluice-go/sluice/vet/ownership"
)

// Main runs the command and ends the process: with 1 when there are findings, with 2
// when the code could not be checked.
func Main() {
	if underGoVet(os.Args[1:]) {
		switch done, err := factsOfStandard(os.Args[1:]); {
		case err != nil:
			fmt.Fprintln(os.Stderr, "sluicevet:", err)
			os.Exit(2)
		case done:
			return
		}
		unitchecker.Main(ownership.WithFlags(flag.CommandLine))
	}
	err := standalone(os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, errFound):
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "sluicevet:", err)
		os.Exit(2)
	}
}

// underGoVet reports whether the go command is the caller: it asks for the
// version and the flags, and then passes a file that ends in .cfg.
func underGoVet(args []string) bool {
	for _, arg := range args {
		if strings.HasSuffix(arg, ".cfg") || arg == "-flags" || strings.HasPrefix(arg, "-V=") {
			return true
		}
	}
	return false
}
