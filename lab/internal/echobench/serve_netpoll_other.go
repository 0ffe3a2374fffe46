//go:build linux && !amd64 && !arm64

package echobench

// serveNetpoll is not there: netpoll does not compile for this processor.
var serveNetpoll serve
