package sluice

// Limits bound what one call may have to hold, so that memory follows what a
// reader accepts and not what a peer sends. A field that is 0 has its default.
type Limits struct {
	// Line is the longest line with its end, in bytes. Default 64 KiB.
	Line int
	// Header is the longest MIME header in bytes, ends of lines included.
	// Default 1 MiB.
	Header int
	// Fields is the largest number of fields in a MIME header. Default 1,000.
	Fields int
	// Frame is the most that Peek, Next, ReadBuf, ReadBufs, ReadBytes, ReadFrame
	// and ReadSlice may ask for or come to, and that a Mark may span, in bytes.
	// Default 64 MiB.
	Frame int
}

const (
	defaultLine   = 64 << 10
	defaultHeader = 1 << 20
	defaultFields = 1000
	defaultFrame  = 64 << 20
)

func (l Limits) orDefault() Limits {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&l.Line, defaultLine)
	set(&l.Header, defaultHeader)
	set(&l.Fields, defaultFields)
	set(&l.Frame, defaultFrame)
	return l
}

var defaults = Limits{}.orDefault()

// SetLimits sets the reader's limits, which Reset keeps.
func (b *BufReader) SetLimits(l Limits) { b.extras().limits = l.orDefault() }

func (b *BufReader) limits() *Limits {
	if b.x == nil {
		return &defaults
	}
	return &b.x.limits
}
