// Package evidence collects what several tools say about one program, and says
// what was seen; package diagnose says what it means.
//
// Gather looks at a process that runs, at a command that it starts, at the
// net/http/pprof of a server, or at files that were recorded earlier, all in one way: each tool is
// asked, and one that has nothing to look at is listed with the reason.
//
// What the tools write is parsed with bounds on its size, since it may come
// from another machine: input that is cut off gives an error, or what was read until then.
//
// The package touches no payload bytes. What the functions return is the
// caller's own. Gather may be called from any goroutine, but two at once would
// disturb each other's measurements.
package evidence
