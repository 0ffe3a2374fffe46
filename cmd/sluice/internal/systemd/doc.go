// Package systemd is the little of systemd's protocols that a server needs: sockets
// that it was given (sd_listen_fds(3)), and to say that it is ready (sd_notify(3)). They
// are conventions about environment variables and descriptors, which other programs
// follow too.
//
// A Sockets belongs to one goroutine.
package systemd
