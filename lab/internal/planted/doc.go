// Package planted holds workloads that each have one fault of the kind that
// programs have: it looks innocent where it stands and costs most of the time.
// Package diagnose is tested on them. Each has two variants that do the same
// work on the same bytes, fault and mended, so that a comparison shows what
// mending gains.
//
// Nothing here is a pattern to follow, and nothing of it is known to the rules
// of a diagnosis.
//
// A Runner belongs to one goroutine at a time. Goroutines and connections of its
// own stand still between rounds and end in Close. Bytes that a reader lends are
// borrowed for the handling of one packet.
package planted
