// Package cli is the command line of lab: it understands arguments, calls
// the lab, and says what came of it in lines, files and exit codes.
//
// A wrong command line costs one line on standard error and exit code 2.
// Results go to standard output, progress and complaints to standard error, so that either
// can be sent elsewhere.
//
// The package touches no payload bytes. One App.Main at a time may run in a
// process, since it listens for the signals of the whole process.
package cli
