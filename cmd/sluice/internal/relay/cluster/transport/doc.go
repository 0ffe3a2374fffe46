// Package transport carries the messages of a cluster's nodes over NATS: over a
// server in this process that is connected to those of the other nodes, or over one
// that is there already. It uses core subjects only, so nothing is stored.
//
//	PREFIX.node.NAME   what a node sends to all
//	PREFIX.ctl.NAME    what is sent to one node
//
// Everything that is sent carries a code made with the cluster's secret, the name
// and run of the sender, a number and the time. What is altered, repeated, old or
// from others is counted and left out. The servers of the nodes are connected by
// TLS, with a key derived from the secret on both sides; they accept no clients.
//
// A Transport is safe for concurrent use.
package transport
