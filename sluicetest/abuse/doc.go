// Package abuse tries a streaming server by what hostile and broken clients do,
// in the way of h2spec: several hundred numbered cases for RTMP, for FLV over HTTP
// and for FLV over WebSocket, each with the clause that it comes from and with
// what is expected. Around the cases a healthy publisher and a healthy viewer go
// on, and every byte between them is compared; at the end the memory and the
// descriptors of the server are looked at.
//
// It is meant for servers of any make. Only loopback and private addresses are
// tried unless Options.Own is set.
//
// The bytes that the cases send are the package's own. Run may be called by many
// goroutines at once; each call runs cases in several.
package abuse
