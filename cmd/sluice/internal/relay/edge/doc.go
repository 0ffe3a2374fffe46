// Package edge pulls streams from an origin when somebody wants to watch them.
//
// A Puller knows one origin, an RTMP or an HTTP server. The first Pull of a
// stream begins to pull it and publishes it locally; those that come while it
// begins wait for the same pull. A pull goes on while the stream has viewers,
// over connections that break, and lets go some time after the last has left.
// What the origin does not have is refused as soon as it says so.
//
// Servers that pull from one another in a circle are found by the path that
// each pull leaves behind it: every server adds its name to a list, in the Via
// header of HTTP (RFC 9110, section 7.6.3) and in the flashVer of RTMP, and
// refuses what has been with it already.
//
// A Puller is for use by many goroutines at once.
package edge
