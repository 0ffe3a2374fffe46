// Package amf0 reads and writes Action Message Format 0, in which RTMP has its
// commands and FLV its metadata (Adobe, "Action Message Format -- AMF 0", 2007).
//
// A value is a plain Go value: float64, bool, string, nil for null, and the
// types of this package for what Go has no word for. Parse reads one from the
// front of a slice, ParseAll all of them, Each finds properties, Append writes one; everything that
// Parse returns within the default depth can be appended again and means the same.
//
// Bytes given to Parse are borrowed until it returns: strings are copied, and
// what is returned belongs to the caller alone. What a peer sends is bounded
// before it is held: by Limits, and by a constant times the bytes that have
// arrived, whatever count is written in them.
//
// Functions may be called by many goroutines at once; a value is ordinary
// memory, which its users share by their own rules.
package amf0
