// Package access decides who may publish and who may play: allow lists of
// addresses, signed tokens, limits on streams and viewers, and a hook that asks
// another server. A Gate holds the rules; Admit takes a Request through them in
// that order, the cheap ones first, and answers with a release function or with
// an error that says which rule refused and why.
//
// A rule that cannot be asked refuses: a hook that does not answer lets nobody
// in.
//
// The package touches no payload bytes; all strings are the caller's to keep. A
// Gate is for all goroutines at once.
package access
