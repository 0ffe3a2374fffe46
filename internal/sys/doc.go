// Package sys is the thin line between the library and the machine: stores
// that need no fence, and constants about the build. It has no state.
package sys
