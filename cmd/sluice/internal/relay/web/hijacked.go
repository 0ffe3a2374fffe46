package web

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Bodies without a length, for headerOf.
const (
	endsWithConnection = -1
	chunkedBody        = -2
)

// headerOf returns the header of an answer after which the connection is closed.
// length is the length of the body in bytes, or one of the constants above. CORS
// fields are copied from more.
func headerOf(status int, contentType string, length int, more http.Header) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\nDate: %s\r\nContent-Type: %s\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n",
		status, http.StatusText(status), time.Now().UTC().Format(http.TimeFormat), contentType)
	switch {
	case length == chunkedBody:
		b.WriteString("Transfer-Encoding: chunked\r\n")
	case length >= 0:
		fmt.Fprintf(&b, "Content-Length: %d\r\n", length)
	}
	for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", recordedFrom, "Vary", "Via"} {
		for _, value := range more.Values(name) {
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
	}
	b.WriteString("\r\n")
	return []byte(b.String())
}

// lastChunk ends a chunked body. It is not changed.
var lastChunk = []byte("\r\n0\r\n\r\n")

const flvType = "video/x-flv"

// farewell answers a request on a hijacked connection, transferred, and closes it
// when the client has closed its side, or after lingerTime. It returns at once.
func (w *Server) farewell(conn net.Conn, status int, text []byte, more http.Header) {
	w.Group.Run(conn, func(conn net.Conn) {
		conn.SetDeadline(time.Now().Add(lingerTime))
		if _, err := conn.Write(append(headerOf(status, "application/json", len(text), more), text...)); err != nil {
			return
		}
		if half, ok := conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() != nil {
			return
		}
		io.CopyN(io.Discard, conn, lingerBytes)
	})
}

// How much of a client's data is read and discarded after the answer, and for how
// long. Closing with unread bytes would reset the connection, and the client
// might never see the answer.
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 16 << 20 // a frame that was too long, to its end
)
