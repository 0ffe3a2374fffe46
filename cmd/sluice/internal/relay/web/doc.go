// Package web is the HTTP side of the relay: FLV played by GET and over
// WebSocket, FLV published by POST and PUT, the API, the metrics, the page. Its
// listeners speak HTTP/1.1, because media connections are hijacked.
//
// A body is read into counted memory; tags are transferred to the stream. A
// connection that plays is transferred to the writer of streams.
package web
