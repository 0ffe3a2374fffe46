// Package echobench has what the echo scenarios are made of: servers that send back
// what they receive, each in another way, a load client that costs less than
// any of them, and counters of what a server's process used meanwhile.
//
// A server and its client are processes of their own, each on a processor of
// its own, so that what one of them costs is not counted with, or taken from,
// the other. The client counts complete messages, and compares the bytes of each
// with what was sent.
//
// It is for Linux: the client and the floor are loops over epoll(7), and
// processes are bound to processors.
//
// Nothing here is safe for use by several goroutines, except a ConnCounter.
package echobench
