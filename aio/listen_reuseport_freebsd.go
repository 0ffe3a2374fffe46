package aio

import "golang.org/x/sys/unix"

// FreeBSD's SO_REUSEPORT lets sockets share an address and gives all
// connections to the last; this one spreads them.
const spreadOption = unix.SO_REUSEPORT_LB
