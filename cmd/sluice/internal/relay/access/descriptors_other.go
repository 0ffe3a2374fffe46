//go:build !unix

package access

// Descriptors is how many the process may have, 0 for no known limit.
func Descriptors() int { return 0 }

func scarce(int) bool { return false }
