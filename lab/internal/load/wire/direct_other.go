//go:build !linux

package wire

const directFlag = 0
