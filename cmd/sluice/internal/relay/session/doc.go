// Package session is the admission and the register of the relay: it says who
// may publish and watch, under which name, makes publishers and viewers of
// streams, keeps a register of them with their figures and the way to end each,
// and counts what has to end before the server may. It knows no protocol: the
// rooms of the transports call it.
//
// A Host's methods may be called by any goroutine.
package session
