//go:build !linux

package echobench

// Processors needs Linux.
func Processors() (server, client int, err error) { return 0, 0, platform() }

// OnProcessor calls start; processes are bound on Linux only.
func OnProcessor(_ int, start func() error) error { return start() }
