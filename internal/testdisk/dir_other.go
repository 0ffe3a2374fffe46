//go:build !linux

package testdisk

import "testing"

// Dir is a directory that is removed at the end.
func Dir(t testing.TB) string { return t.TempDir() }
