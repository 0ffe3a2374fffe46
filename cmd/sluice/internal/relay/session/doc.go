// Package session is the admission and the register of the relay. It decides who
// may publish and watch and under which name, and makes publishers and viewers of
// streams. It keeps a register of them with their figures and a way to end each,
// and counts what has to end before the server can. It knows no protocol: the
// packages of the protocols call it.
//
// A Host's methods are safe for concurrent use.
package session
