// Package cluster makes a relay one node of several. A Node keeps the directory of
// who has what in step with the other nodes, over package transport, and signs what
// lets nodes pull from one another. Media does not pass through it: nodes pull over
// HTTP-FLV.
//
// What a node knows is soft: with the others out of reach, it goes on with what it
// has.
//
// A Node is safe for concurrent use.
package cluster
