//go:build !unix

package cli

func outputClosed() bool { return false }
