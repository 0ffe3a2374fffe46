// Package report writes results in the forms that people and programs read:
// a table for a terminal, JSON with every raw value, the benchmark text that
// benchstat reads, and one HTML page that needs nothing else to open.
//
// A File holds everything that a report says: all forms are made from it, and Read reads it
// back from JSON, so that a table or a page can be made again later and elsewhere.
// WriteReport makes one page of any results that Read reads: of bench, load, matrix,
// and diagnose. Compare sets a later result against an earlier one of the
// same kind. Files come from anywhere: no text in them becomes markup.
//
// Medians, intervals and verdicts are always derived from the raw values by
// Summarize; those in the JSON are there for scripts and are not read back.
//
// The package touches no payload bytes. Its functions may be called from any
// goroutine as long as no goroutine changes the File.
package report
