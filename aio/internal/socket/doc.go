// Package socket reads and writes non-blocking descriptors, and duplicates those of
// connections. It is a leaf: it knows neither watchers nor operations.
package socket
