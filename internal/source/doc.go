// Package source is where a reader's bytes come from, one kind a file: a
// connection whose descriptor is read directly, any io.Reader, a channel. A
// source waits and reads; it knows nothing of what the bytes are for.
package source
