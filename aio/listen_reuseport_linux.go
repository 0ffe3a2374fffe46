package aio

import "golang.org/x/sys/unix"

const spreadOption = unix.SO_REUSEPORT
