//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package machine

import "os"

func hardware() (cpu, kernel string) { return os.Getenv("PROCESSOR_IDENTIFIER"), "" } // which Windows sets

func surroundings(*Machine) {}
