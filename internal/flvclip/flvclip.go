// Package flvclip holds ten seconds of H.264 and AAC in an FLV file: real
// media bytes for the tests and for the measuring program. No library package
// imports it, so no user's binary carries it.
package flvclip

import _ "embed"

// File is the clip: a 9-byte header, then a script tag, 302 video and 433 audio
// tags, each followed by its 4-byte size. Of these two video tags and an audio
// tag set up and end the streams; the packets are 300 and 432. It is shared: do
// not write to it.
//
//go:embed h264-aac-10s.flv
var File []byte
