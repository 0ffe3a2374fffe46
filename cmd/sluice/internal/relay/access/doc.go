// Package access decides who may publish and who may play: allow lists of
// addresses, signed tokens, bans, limits on streams and viewers, and an Asker such
// as a hook. A Gate holds the rules; Admit checks a Request against them in that
// order, the cheap ones first, and returns a release function or an error that
// says which rule refused and why.
//
// A rule that cannot be checked refuses: when the Asker cannot decide, no request
// is admitted.
//
// The package touches no payload bytes; the caller may keep all strings. A Gate
// is safe for concurrent use.
package access
