// Package command runs a program for each published stream, from its beginning to its
// end: this is how streams are transcoded, by ffmpeg for example. No shell is between.
//
// It touches no bytes of a stream. A Runner is safe for concurrent use.
package command
