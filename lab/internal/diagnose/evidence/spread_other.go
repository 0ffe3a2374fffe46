//go:build !linux

package evidence

func spread(bool) {}
