// Package diagnose says what the evidence about a program means. Each rule
// knows one fault: what it looks like in which tool, what it costs, and what to try.
// Diagnose asks all of them and ranks the answers by their scores.
//
// # Scores
//
// A score is the part of the program's time, 0 to 1, that mending is thought
// to give back at most. What costs processor time is weighed with how busy the
// program was: 40 % of the processor time of a process that waits for 90 % of
// its time is 0.04. What makes goroutines wait is counted in waiting time. From Significant on a
// finding is worth mending first. Lines without a rule only repeat
// what a tool saw most of; they stand below all that have one.
//
// # What is missing
//
// A rule says which tools it goes by. Where none of them saw anything, or too little, it is
// listed as open, with the reason, and the verdict is Undecided and not Clean.
//
// No payload bytes are touched. Evidence is only read. All functions may be called
// from any goroutine.
package diagnose
