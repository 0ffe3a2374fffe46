// Package feed keeps the register of what is made of streams once for all the viewers of
// a protocol, such as packets: a feed begins with its first user and ends with its last.
//
// Copy is how most of them are made.
//
// A Register and its feeds are safe for concurrent use.
package feed
