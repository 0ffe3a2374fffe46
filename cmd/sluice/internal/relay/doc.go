// Package relay is the live server of the program: it listens, talks RTMP,
// FLV over HTTP and FLV over WebSocket, and says what it does in an API, in
// metrics, in logs and on a page. The streams themselves are package live's.
//
// New makes a Server from a Config, Listen opens its listeners, Serve runs it
// and Shutdown ends it. Media bytes are received once into counted memory:
// frames are retained while they stand in a stream, and conns are transferred
// to the writer, which from then on alone writes to them and closes them.
//
// A Server's methods may be called by any goroutine.
package relay
