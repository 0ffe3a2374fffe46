// Package stats says what repeated measurements on a noisy machine allow to
// be said: a median, an interval for it that assumes nothing about the shape
// of the noise, and whether two things measured side by side differ at all.
//
// A shared machine drifts by factors within a minute and its noise has heavy
// tails, so that means, standard deviations and normal theory mislead. Everything here
// rests on the order of the values only, and on ratios taken between values that
// were measured within the same round. Runs at different times have no rounds in
// common; CompareRuns says what can be said of them, which is less.
//
// The package holds no state; its functions may be called from any goroutine.
// Slices given to it are borrowed for the call and not changed.
package stats
