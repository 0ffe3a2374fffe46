// Package directory knows which node of a cluster has which stream.
//
// A Directory is a state machine without goroutines, clock or network: its caller
// gives it the time and the messages of other nodes, and takes from it the
// messages to send and what has changed (Take). Nothing in it is kept on a disk:
// every node repeats a digest of what it has each second, a node that finds a
// difference asks for the whole list, and a node that is silent for too long is
// forgotten with all its streams.
//
// Two nodes may publish one name, by a race or through a partition. Each
// publication has an epoch, of a logical clock that runs ahead of every epoch seen.
// By (epoch, node) every node finds the same winner, without asking.
//
// A Directory is for one goroutine at a time.
package directory
