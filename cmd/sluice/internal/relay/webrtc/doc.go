// Package webrtc is the relay's WebRTC side: publishers by WHIP (RFC 9725) and viewers
// by WHEP. Package web has the requests; here are the offers, the answers and the media,
// on one port of UDP and TCP for all sessions. The server is ICE-lite: it never sends
// a check, and ignores the candidates of its clients, so an offer cannot direct packets
// to a third party.
//
// The packets of a stream are made once for all of its viewers: see package rtpfeed. What
// differs between viewers is their header (numbers, timestamps, source) and the
// encryption, which is a copy in any case.
//
// Ownership: offers are borrowed until the call returns. A Server is for use by many
// goroutines at once.
package webrtc
