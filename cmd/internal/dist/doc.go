// Command dist makes what a release of sluice consists of besides its source: archives
// for Linux, macOS and Windows, Debian packages, a bill of materials for each program,
// and the checksums of all. The same commit and the same Go make the same bytes.
//
//	go run ./cmd/internal/dist v0.2.0 dist
//
// It runs go and git in the current directory, which is the root of the repository, at
// the tag of the version.
package main
