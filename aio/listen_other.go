//go:build !linux && !freebsd

package aio

import "syscall"

const spreads = false

func shareAddress(string, string, syscall.RawConn) error { return nil }
