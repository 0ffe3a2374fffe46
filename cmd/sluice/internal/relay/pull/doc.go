// Package pull is the server's origin: it fetches streams that have viewers here
// and no publisher, by package edge, and publishes them. Frames are transferred
// to the stream.
//
// An Origin is safe for concurrent use.
package pull
