// Package rewind makes what players of a live stream are sent from what was recorded of
// it: FLV, from one time on, over the gaps between files, and on while more is recorded.
//
// A Reader reads a Tape of package archive. It holds two windows of 32 KB on the file, and
// the bytes that it returns last. It is not safe for concurrent use.
package rewind
