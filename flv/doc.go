// Package flv reads and writes FLV: the file and stream format, and the headers
// of the audio and video in it, which RTMP messages have too.
//
// The specifications are Adobe's "Video File Format", version 10.1, annex E,
// which the comments cite by section, and Veovera's "Enhanced RTMP", version 2,
// for codecs that have a fourcc.
//
//   - A [Decoder] takes tags from a sluice.BufReader, an [Encoder] writes them to
//     a sluice.BufWriter; payloads are not copied and nothing is allocated.
//   - [ParseVideo] and [ParseAudio] understand what a tag's payload begins with,
//     [ParseScript] one with metadata; each has its Append.
//   - [ParseVideoConfig] and [ParseAudioConfig] find the picture's size, the
//     sampling rate and the like in sequence headers.
//   - [Probe] reads a whole file and says what is in it and wrong with it.
//
// Times are in milliseconds and have 32 bits: the 24 of the field and the 8 of
// its extension. They wrap after 49.7 days.
//
// Ownership is described in package mem's words. Bytes given to a Parse function
// are borrowed until it returns, or as long as the result if that is documented to
// hold views of them. The payload of a Tag is retained: the holder of the tag
// releases it. A tag given to an Encoder is transferred.
//
// Input from a peer never causes a panic. Memory follows the bytes that have
// arrived, not a length in a header.
//
// Functions may be called by many goroutines at once. A Decoder or an Encoder, and
// its reader or writer, belongs to one goroutine at a time.
package flv
