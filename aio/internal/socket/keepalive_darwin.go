package socket

import "golang.org/x/sys/unix"

var keepAliveTimes = []int{unix.TCP_KEEPALIVE, unix.TCP_KEEPINTVL, unix.TCP_KEEPCNT}
