// Package edge pulls streams from an origin while they have viewers.
//
// A Puller knows an origin, an RTMP or an HTTP server, or several of them. The
// first Pull of a stream starts to pull it and publishes it locally; later calls
// wait for the same pull. A stream that no origin has is refused as soon as they
// say so. A pull that has delivered frames goes on while the stream has viewers:
// it survives broken connections and origins that restart, up to Options.GiveUp
// without a frame. It ends some time after the last viewer has left.
//
// Each pull carries its path, which reveals servers that pull from one another in
// a circle: every server adds its name to a list, in the Via header of HTTP (RFC
// 9110, section 7.6.3) and in the flashVer of RTMP, and refuses a request that
// already has its name.
//
// A Puller is safe for concurrent use.
package edge
