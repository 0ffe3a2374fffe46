//go:build linux

package realtest

import (
	"os"
	"testing"
)

// long skips a test that make long runs. without is why others do, or what they have instead.
func long(t *testing.T, without string) {
	t.Helper()
	if !repeats() {
		t.Skip("set SLUICE_LONG=1; " + without)
	}
}

// repeats reports whether there is time for tests that take long, and the machine for figures.
func repeats() bool { return os.Getenv("SLUICE_LONG") != "" || os.Getenv("SLUICE_TEST_ROUNDS") != "" }
