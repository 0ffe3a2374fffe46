// Package release has nothing but tests: that the scripts make a release, and
// that both programs can be installed from it.
package release
