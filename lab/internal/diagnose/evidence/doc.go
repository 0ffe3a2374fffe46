// Package evidence collects what several tools say about one workload: the
// profiles of package runtime/pprof, the execution trace, strace and perf. It
// says what was seen; package diagnose says what it means.
//
// A workload is a variant of a scenario. Collect runs it in a child process,
// once for each tool, because most tools disturb each other: the child opens
// the runner, warms it up, and only then the tool looks. FromURL takes the same
// from the /debug/pprof of a server that is running already.
//
// What the tools write is parsed with bounds on everything, since it may come
// from another machine: input that is cut off or hostile gives an error, or what
// was read until then.
//
// The package touches no payload bytes. What the functions return is the
// caller's own. Collect and FromURL may be called from any goroutine, but two
// at once would disturb each other's measurements.
package evidence
