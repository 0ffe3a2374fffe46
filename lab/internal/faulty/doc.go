// Package faulty holds programs that each have one fault of the kind that
// programs have: it looks innocent where it stands and costs most of the time.
// Package diagnose is tested on them. They are run as foreign programs are, in a
// process of their own, with the fault or mended, and use the standard library only.
//
// Nothing here is a pattern to follow, and nothing of it is known to the rules
// of a diagnosis. Bytes that a reader lends are borrowed until its next call.
package faulty
