// Package srtserver is the SRT side of a server: a listener to which streams are
// published, and from which they are watched, as MPEG transport streams.
//
// The protocol is github.com/datarhei/gosrt's. This package asks nothing of it before a
// request was looked at: requests with sizes and latencies that would cost memory are
// refused, those of the protocol's version 4 are too, and each connection's buffers are
// watched while it lasts.
package srtserver
