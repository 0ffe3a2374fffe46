// Package au converts between the frames of a live.Stream, which are bodies of FLV
// tags, and access units: what all other protocols carry. A Splitter converts frames
// into units, a Joiner units into frames.
//
// Both look at the few bytes that are FLV's and at the lengths of the units within
// a picture. They do not search the media.
//
// Ownership: a Unit's parts are views of the frame that it was split from, borrowed
// as long as that is. A Joiner's packed units and the frames it returns are transferred.
//
// A Splitter and a Joiner belong to one goroutine at a time. A Config is never changed
// once it is in use.
package au
