// Package cli is the command line of sluice: it parses arguments, runs the relay,
// and reports the result in lines and exit codes.
//
// A wrong command line prints one line on standard error and exits with code 2.
// Results go to standard output, the log and errors to standard error, so that
// each can be redirected.
//
// The package touches no payload bytes. Only one App.Main at a time may run in a
// process, because it handles the signals of the whole process.
package cli
