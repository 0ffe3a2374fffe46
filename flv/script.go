package flv

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/sluice-go/sluice/amf0"
)

// OnMetaData is the name of the script data that describes a stream (section
// E.5).
const OnMetaData = "onMetaData"

// setDataFrame stands before the name in data messages of RTMP publishers: it asks
// the server to keep the data and send it to viewers that join later.
const setDataFrame = "@setDataFrame"

// ParseScript reads a script tag's payload, borrowed until it returns: a name
// and values, nearly always one. The limits are amf0's defaults. Values before
// an error are returned with it.
func ParseScript(p []byte) (name string, values []amf0.Value, err error) {
	all, err := amf0.ParseAll(p)
	if len(all) == 0 {
		if err == nil {
			err = fmt.Errorf("flv: script data: empty: %w", io.ErrUnexpectedEOF)
		}
		return "", nil, err
	}
	name, ok := all[0].(string)
	if !ok {
		return "", nil, fmt.Errorf("%w: script data that begins with %T, not a name", ErrSyntax, all[0])
	}
	return name, all[1:], err
}

// AppendScript appends a script tag's payload to dst. Errors are amf0.Append's,
// and dst is then returned as it was. dst is borrowed until the call returns; the result is the
// caller's.
func AppendScript(dst []byte, name string, values ...amf0.Value) ([]byte, error) {
	out, err := amf0.Append(dst, name)
	for i := 0; err == nil && i < len(values); i++ {
		out, err = amf0.Append(out, values[i])
	}
	if err != nil {
		return dst, err
	}
	return out, nil
}

// StripSetDataFrame returns the view of p that is without the name
// "@setDataFrame" at its front, or p itself if it is not there: what an RTMP
// publisher sends becomes what a file and a viewer have.
func StripSetDataFrame(p []byte) []byte {
	const markString, markLong = 2, 12
	n := 0
	switch {
	case len(p) >= 3 && p[0] == markString:
		n = 3
		if int(binary.BigEndian.Uint16(p[1:])) != len(setDataFrame) {
			return p
		}
	case len(p) >= 5 && p[0] == markLong:
		n = 5
		if binary.BigEndian.Uint32(p[1:]) != uint32(len(setDataFrame)) {
			return p
		}
	default:
		return p
	}
	if len(p) < n+len(setDataFrame) || string(p[n:n+len(setDataFrame)]) != setDataFrame {
		return p
	}
	return p[n+len(setDataFrame):]
}
