package evidence

import (
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof" // registers itself
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/lab"
)

const (
	// ScenarioChild is the hidden command that runs a variant of a scenario: "child
	// diagnose-scenario SCENARIO VARIANT SEED SOCKET". It serves net/http/pprof on the socket.
	ScenarioChild = "diagnose-scenario"
	// childLife is how long it runs, should its parent be stopped in a way that leaves the pipe open.
	childLife = 10 * time.Minute
)

// Children returns the command, over the scenarios that it may be asked to run. It runs until its
// standard input ends.
func Children(scenarios []lab.Scenario) map[string]func(args []string) error {
	return map[string]func([]string) error{ScenarioChild: func(args []string) error {
		if len(args) != 4 {
			return fmt.Errorf("evidence: child %s SCENARIO VARIANT SEED SOCKET, got %q", ScenarioChild, args)
		}
		seed, err := strconv.ParseUint(args[2], 10, 64)
		if err != nil {
			return fmt.Errorf("evidence: seed %q", args[2])
		}
		for _, s := range scenarios {
			for _, v := range s.Variants {
				if s.Name == args[0] && v.Name == args[1] {
					return runVariant(&s, v, seed, args[3])
				}
			}
		}
		return fmt.Errorf("evidence: there is no scenario %q with a variant %q", args[0], args[1])
	}}
}

func runVariant(s *lab.Scenario, v lab.Variant, seed uint64, socket string) error {
	child.Begin(childLife)
	_ = os.Remove(socket) // of a run before, if there was one
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	defer l.Close()
	go func() { _ = http.Serve(l, nil) }() // it ends with the listener
	dir := filepath.Dir(socket)            // the parent's, which removes it
	self, err := os.Executable()
	if err != nil {
		return err
	}
	runner, err := v.Open(lab.Env{Seed: seed, Dir: dir, Self: self, Quick: true})
	if err != nil {
		return fmt.Errorf("evidence: opening the workload: %w", err)
	}
	defer runner.Close()
	for {
		if _, err := runner.Run(max(s.Ops, 1)); err != nil {
			return fmt.Errorf("evidence: running the workload: %w", err)
		}
	}
}
