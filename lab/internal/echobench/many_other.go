//go:build !linux

package echobench

import "time"

// A Many needs Linux.
type Many struct{}

// NewMany needs Linux.
func NewMany(string, int, int, uint64) (*Many, error) { return nil, platform() }

// Write needs Linux.
func (m *Many) Write() (wall, cpu time.Duration, err error) { return 0, 0, platform() }

// Close needs Linux.
func (m *Many) Close() {}
