package sluice

import (
	"io"
	"net"
)

// sinkKind is what a BufWriter has to know of the writer below it.
type sinkKind struct {
	gathers   bool // takes many pieces in one system call
	bound     int  // default of Options.BufLen
	copyBelow int  // a Buf below this length is copied and released at once
}

var (
	gathering = sinkKind{gathers: true, bound: gatherBound, copyBelow: gatherFrom}
	oneByOne  = sinkKind{bound: plainBound, copyBelow: plainBound}
)

// The sizes were chosen by the processor time of the whole process, the
// draining peer included, to a bufio.Writer of 64 KiB (medians of 401 to 801
// interleaved rounds of 4 MB, AMD EPYC of 2 cores, Linux 6.18, loopback; the
// same comparison of bufio with itself gives 0.99 to 1.01):
//
//	                  2 KiB  4 KiB  8 KiB  16 KiB
//	64 KiB   copied    1.02   1.00   1.00    1.01   TCP
//	         gathered  1.15   1.03   0.98    0.99
//	         copied    1.03   1.03   1.01    1.03   Unix
//	         gathered  1.20   1.00   0.98    0.96
//	128 KiB  copied    0.75   0.85   0.79    0.72   TCP
//	         gathered  0.86   0.82   0.73    0.67
//	         copied    0.94   0.92   0.90    0.91   Unix
//	         gathered  0.99   0.91   0.83    0.82
//
// 256 KiB gives 0.05 to 0.1 more, for twice the memory that a slow peer can
// make a writer hold.
//
// TLS takes one piece a call, and cuts it into records of 16 KiB: Bufs of
// 20,000 bytes cost 1.25 when each is a call of its own, and 1.00 copied. Copying
// costs 0.98 to 1.01 at all sizes from 100 bytes to 32 KiB.
const (
	// gatherBound halves the system calls, and how often the peer wakes.
	gatherBound = 128 << 10
	// gatherFrom is where a piece of its own begins to cost the kernel, the
	// lists and the allocator less than a copy does.
	gatherFrom = 4 << 10
	// plainBound is for writers that take one piece a call. A Buf as long as
	// that is a call of its own with bufio.Writer too.
	plainBound = 64 << 10
	// together is what the parts of a Memory are brought together to for
	// writers that take one piece a call: a TLS record's payload.
	together = 16 << 10
	// directFrom is the length from which Write does not copy: it sends what
	// waits and the caller's bytes together.
	directFrom = 8 << 10
)

func kindOf(w io.Writer) sinkKind {
	switch c := w.(type) {
	case *net.TCPConn:
		return gathering
	case *net.UnixConn:
		// Packets must not be joined or cut.
		if a := c.LocalAddr(); a != nil && a.Network() == "unix" {
			return gathering
		}
	}
	return oneByOne
}
