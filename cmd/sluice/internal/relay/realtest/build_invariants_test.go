//go:build linux && invariants

package realtest

func init() { invariants = true }
