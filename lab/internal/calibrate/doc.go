// Package calibrate finds out what the machine and the generator of package load
// allow, before figures are taken with them: how late timers are, what a round
// trip over loopback costs at least, and how many requests a second the generator can send.
//
// The bytes of its own connections stay within it. Its functions may be called from
// any goroutine; two at a time disturb each other's figures.
package calibrate
