// Package load puts load on a server and says what came of it.
package load
