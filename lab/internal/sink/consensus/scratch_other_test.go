//go:build !linux

package consensus

import "testing"

func scratch(t testing.TB) string { return t.TempDir() }
