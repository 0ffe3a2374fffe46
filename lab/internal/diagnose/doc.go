// Package diagnose says what the evidence about a program means. Each rule knows one fault: what it looks like in
// which tool, what it costs, and what to try. Diagnose asks all of them and ranks the answers by their scores.
//
// A score is the part of the program's time, 0 to 1, that mending is thought to give back at most (docs/diagnosis.md).
// From Significant on a finding is worth mending first. Lines without a rule only repeat what a tool saw most of.
//
// # What is missing
//
// A rule says which tools it goes by. Where none of them saw anything, or too little, it is listed as open, with the
// reason, and the verdict is Undecided and not Clean.
//
// No payload bytes are touched. Evidence is only read. All functions may be called from any goroutine.
package diagnose
