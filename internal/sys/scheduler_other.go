//go:build !linux

package sys

// WakeMonitor does nothing: the scheduler is notified of all system calls.
func WakeMonitor() {}
