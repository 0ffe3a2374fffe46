//go:build race

package aio_test

// crowdSize is smaller under the race detector, which makes a connection cost
// ten times as much.
const crowdSize = 2000
