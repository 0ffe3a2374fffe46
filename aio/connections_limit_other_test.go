//go:build !unix

package aio_test

import "testing"

// descriptorLimit is more than any test needs: there is no such limit here.
func descriptorLimit(testing.TB) int { return 1 << 30 }
