// Package edge pulls streams from an origin when somebody wants to watch them.
//
// A Puller knows an origin, an RTMP or an HTTP server, or several of them. The first Pull of a
// stream begins to pull it and publishes it locally; those that come while it
// begins wait for the same pull. What no origin has is refused as soon as they say
// so. A pull that has played goes on while the stream has viewers, over
// connections that break and origins that restart, up to Options.GiveUp without a
// frame, and lets go some time after the last viewer has left.
//
// Servers that pull from one another in a circle are found by the path that
// each pull leaves behind it: every server adds its name to a list, in the Via
// header of HTTP (RFC 9110, section 7.6.3) and in the flashVer of RTMP, and
// refuses what has been with it already.
//
// A Puller is for use by many goroutines at once.
package edge
