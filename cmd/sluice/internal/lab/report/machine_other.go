//go:build !linux && !windows && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package report

func hardware() (cpu, kernel string) { return "", "" }
