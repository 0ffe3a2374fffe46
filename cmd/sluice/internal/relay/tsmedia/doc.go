// Package tsmedia converts between MPEG transport streams (ISO/IEC 13818-1) and the
// frames of a live.Stream: H.264, HEVC, AAC, Opus, MP3 and AC-3.
//
// A Muxer appends to bytes of the caller. An Intake reads, and gives frames whose
// payloads are transferred. Neither is safe for concurrent use.
package tsmedia
