package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/proc"
)

// checkShape checks what shape defines, and what of it depends on the machine.
func (f *loadFlags) checkShape() error {
	f.plan.Protocol = load.Protocol(f.protocol)
	var err error
	if f.plan.Sizes, err = load.ParseSizes(f.size); err != nil {
		return fmt.Errorf("--size: %w", err)
	}
	if f.plan.PID < 0 {
		return fmt.Errorf("invalid --pid %d", f.plan.PID)
	}
	if f.plan.PID > 0 {
		switch _, err := proc.Read(f.plan.PID); {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("--pid %d: there is no such process", f.plan.PID)
		case err != nil:
			return fmt.Errorf("--pid %d: %w", f.plan.PID, err)
		}
	}
	return nil
}

// checkFiles makes sure that files can be written: before the run, not after it.
func (f *loadFlags) checkFiles() error {
	if f.plan.AckFile == "-" {
		return errors.New("load: --acks needs the name of a file")
	}
	if f.plan.AckFile != "" {
		if f.json != "" && filepath.Clean(f.json) == filepath.Clean(f.plan.AckFile) {
			return errors.New("load: --json and --acks name the same file")
		}
		if err := writable(f.plan.AckFile); err != nil {
			return fmt.Errorf("load: --acks: %w", err)
		}
	}
	if err := writable(f.json); err != nil {
		return fmt.Errorf("load: --json: %w", err)
	}
	return nil
}
