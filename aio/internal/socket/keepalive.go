//go:build linux || freebsd || netbsd || dragonfly

package socket

import "golang.org/x/sys/unix"

var keepAliveTimes = []tcpOption{
	{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, keepAlive},
	{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, keepAlive},
	{unix.IPPROTO_TCP, unix.TCP_KEEPCNT, keepAliveProbes},
}
