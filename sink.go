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
// draining peer included, to a bufio.Writer of 64 KiB. go test -run - -bench
// CopyOrGather -benchtime 300x makes the table (medians of 300 rounds of 4 MB,
// AMD EPYC of 2 virtual cores that others used too, Linux 6.18, loopback;
// bufio compared with itself gave 0.97 to 1.01):
//
//	                  2 KiB  4 KiB  8 KiB  16 KiB
//	64 KiB   copied    0.98   1.00   0.98    1.02   TCP
//	         gathered  1.07   1.01   0.99    0.98
//	         copied    1.00   1.02   1.02    1.02   Unix
//	         gathered  1.09   1.05   1.01    0.96
//	128 KiB  copied    0.94   1.04   1.02    1.03   TCP
//	         gathered  1.08   1.04   0.97    0.91
//	         copied    0.90   0.91   0.87    0.88   Unix
//	         gathered  0.96   0.90   0.87    0.82
//	256 KiB  copied    0.86   0.85   0.87    0.88   TCP
//	         gathered  0.96   0.87   0.84    0.79
//
// 256 KiB would be twice the memory that a slow peer can make a writer hold.
//
// TLS takes one piece a call, and cuts it into records of 16 KiB. Bufs of 100
// bytes cost 1.59 when each is a call of its own, of 20,000 bytes 1.08, of
// 32 KiB 0.98; copied they cost 0.99 to 1.01 at all sizes.
const (
	// gatherBound halves the system calls, and how often the peer wakes.
	gatherBound = 128 << 10
	// gatherFrom is where a piece of its own begins to cost the kernel, the
	// lists and the allocator less than a copy does.
	gatherFrom = 4 << 10
	// plainBound is for writers that take one piece a call. A Buf as long as
	// that is a call of its own with bufio.Writer too.
	plainBound = 64 << 10
	// pressedBound is the bound while the allocator's budget is used up. It leaves
	// short messages whole.
	pressedBound = 16 << 10
	// together is the length to which the parts of a Memory are joined for
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
