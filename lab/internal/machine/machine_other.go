//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package machine

import "os"

// ask fills in what the system says.
func (m *Machine) ask() { m.CPU = os.Getenv("PROCESSOR_IDENTIFIER") } // which Windows sets
