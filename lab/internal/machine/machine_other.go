//go:build !linux && !windows && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package machine

func hardware() (cpu, kernel string) { return "", "" }
