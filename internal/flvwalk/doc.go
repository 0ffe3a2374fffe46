// Package flvwalk walks the tags of an FLV stream on a BufReader, for tests
// and for the measuring program: as much of the format as is needed to see
// where each tag begins and ends, and to write it again byte for byte (Adobe
// Flash Video File Format Specification 10.1, annex E). No library package
// imports it.
//
// Data of a [Tag] is borrowed until the next call on the walker or its
// reader; the Buf of NextBuf is retained. A [Walker] belongs to one goroutine
// at a time.
package flvwalk
