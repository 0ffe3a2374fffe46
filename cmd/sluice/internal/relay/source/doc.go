// Package source pulls streams from cameras, other RTSP servers and SRT listeners: each stream has an
// address of its own. A Puller keeps those that are always wanted connected, and
// connects the others while they have viewers.
//
// Ownership: frames are transferred to the Sink.
package source
