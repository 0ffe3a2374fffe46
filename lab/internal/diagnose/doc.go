// Package diagnose says what the evidence about a workload means. Each rule
// knows one fault: what it looks like in which tool, what it costs, and what to try.
// Diagnose asks all of them and ranks the answers by their scores.
//
// # Scores
//
// A score is the part of the workload's time, 0 to 1, that mending is thought
// to give back at most. What costs processor time is weighed with how busy the
// workload was: 40 % of the processor time of a process that waits for 90 % of
// its time is 0.04. What makes goroutines wait is counted in waiting time. A rule
// that rests on a general sign, which has innocent causes too, takes half of
// that or less. Above Significant a finding is worth mending first; what is
// below is a hint. Lines without a rule only repeat what a tool saw most of; they
// stand below all that have one.
//
// # What is missing
//
// No tool is needed by all rules. A rule whose best tool is missing goes by
// another where there is one, and its clue says so, or keeps silent.
//
// No payload bytes are touched. Evidence is only read. All functions may be called
// from any goroutine.
package diagnose
