package socket

import "golang.org/x/sys/unix"

var keepAliveTimes = []tcpOption{
	{unix.IPPROTO_TCP, unix.TCP_KEEPALIVE, keepAlive},
	{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, keepAlive},
	{unix.IPPROTO_TCP, unix.TCP_KEEPCNT, keepAliveProbes},
}
