// Package verify reads the logs that a sink has left, and holds what a client was
// acknowledged against what is in them. It changes nothing.
//
// Its functions may be called from any goroutine.
package verify
