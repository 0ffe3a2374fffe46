//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package machine

import "os"

func (m *Machine) ask() { m.CPU = os.Getenv("PROCESSOR_IDENTIFIER") } // which Windows sets
