// Package matrix measures grids: how a figure changes over two things at once,
// such as the size of requests and the number of connections, for each of
// several engines.
//
// Every cell is measured several times. A round goes through all cells in an
// order that is drawn from a seed, so that a slow minute of the machine falls on
// cells that have nothing in common.
//
// The package touches no payload bytes itself: package load does, and processes
// of the program that are the targets. One Measure at a time changes a File;
// while none does, any goroutine may read it.
package matrix
