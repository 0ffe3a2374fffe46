//go:build linux

package realtest

import (
	"os"
	"testing"
)

// long skips a test that make long runs. without is why others do, or what they have instead.
func long(t *testing.T, without string) {
	t.Helper()
	if os.Getenv("SLUICE_LONG") == "" {
		t.Skip("set SLUICE_LONG=1; " + without)
	}
}
