// Package cli is the command line of sluice: it understands arguments, runs the
// relay, and says what came of it in lines and exit codes.
//
// A wrong command line costs one line on standard error and exit code 2.
// Results go to standard output, the log and complaints to standard error, so
// that either can be sent elsewhere.
//
// The package touches no payload bytes. One App.Main at a time may run in a
// process, since it listens for the signals of the whole process.
package cli
