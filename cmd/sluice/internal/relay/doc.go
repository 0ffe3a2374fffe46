// Package relay is the live server of the program: it listens, joins the servers of
// the protocols (RTMP, RTSP, SRT, WebRTC, and FLV and HLS over HTTP) with admission,
// recording, pushing, pulling and the cluster, and reports its state through an API,
// metrics, logs and a page. The streams themselves are package live's.
//
// New makes a Server from a Config, Listen opens its listeners, Serve runs it and
// Shutdown ends it. Media bytes are received once into counted memory: frames are
// retained while a stream keeps them, and viewers' connections are transferred to
// the writer: from then on only the writer writes to them and closes them.
//
// A Server's methods are safe for concurrent use.
package relay
