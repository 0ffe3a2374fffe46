//go:build !unix && !windows

package proc

func read(pid int) (Reading, error) { return Reading{}, unsupported(pid) }
