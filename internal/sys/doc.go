// Package sys is the thin layer between the library and the machine: stores
// that need no fence, system calls, and constants about the build. It has no
// state.
package sys
