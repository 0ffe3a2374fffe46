//go:build linux || freebsd || netbsd || dragonfly

package socket

import "golang.org/x/sys/unix"

var keepAliveTimes = []int{unix.TCP_KEEPIDLE, unix.TCP_KEEPINTVL, unix.TCP_KEEPCNT}
