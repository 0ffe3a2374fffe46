//go:build linux && race

package realtest

func init() { detector = true }
