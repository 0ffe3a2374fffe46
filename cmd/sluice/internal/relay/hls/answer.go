package hls

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	playlistType = "application/vnd.apple.mpegurl"
	mediaType    = "video/mp4"
)

// An answer is what a request is answered with, of which one is set: a playlist in
// pieces, bytes, or parts, retained. Its viewer has not left the request yet.
type answer struct {
	v     *viewer
	kind  string
	media bool // asked for more than the multivariant playlist
	text  []string
	whole []byte
	parts *retained
}

// leaveWithout ends a request for which there is no answer that will.
func (v *viewer) leaveWithout(a *answer, media bool) {
	if a == nil {
		v.leave(media)
	}
}

// send answers, and ends the request.
func (a *answer) send(rw http.ResponseWriter, r *http.Request) {
	defer a.v.leave(a.media)
	switch {
	case a.parts != nil:
		a.v.sendParts(rw, r, a.parts)
	case a.text != nil:
		a.v.sendText(rw, r, a.text)
	default:
		a.v.send(rw, r, a.kind, a.whole)
	}
}

// begin sets the fields of an answer. An address of media always has the same bytes.
func (s *Server) begin(rw http.ResponseWriter, kind string, media bool) {
	h := rw.Header()
	h.Set("Content-Type", kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if media {
		h.Set("Cache-Control", "private, max-age=3600, immutable")
		h.Set("Accept-Ranges", "bytes")
	}
	http.NewResponseController(rw).SetWriteDeadline(time.Now().Add(s.Host.Times.Answer))
}

// send answers with p, borrowed until it returns.
func (v *viewer) send(rw http.ResponseWriter, r *http.Request, kind string, p []byte) {
	media := kind == mediaType
	v.server.begin(rw, kind, media)
	if media && r.Header.Get("Range") != "" {
		http.ServeContent(&counted{ResponseWriter: rw, v: v}, r, "", time.Time{}, strings.NewReader(string(p)))
		return
	}
	rw.Header().Set("Content-Length", strconv.Itoa(len(p)))
	if r.Method != http.MethodHead {
		n, _ := rw.Write(p)
		v.bytes.Add(int64(n))
	}
}

// counted counts what is sent to a viewer.
type counted struct {
	http.ResponseWriter
	v *viewer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.v.bytes.Add(int64(n))
	c.n += int64(n)
	return n, err
}

// sendParts answers with parts one behind the other, transferred.
func (v *viewer) sendParts(rw http.ResponseWriter, r *http.Request, held *retained) {
	defer held.release()
	leave, err := v.server.Sending(r)
	if err != nil {
		v.server.noPlace(rw, err)
		return
	}
	defer leave()
	v.server.begin(rw, mediaType, true)
	if r.Header.Get("Range") != "" {
		v.serve(rw, r, io.NewSectionReader(held, 0, held.size), held.size)
		if r.Header.Get("Range") == "bytes=0-" { // as some players always ask
			v.frames.Add(int64(held.frames))
		}
		return
	}
	rw.Header().Set("Content-Length", strconv.FormatInt(held.size, 10))
	if r.Method == http.MethodHead {
		return
	}
	for i := range held.bufs {
		n, err := rw.Write(held.bufs[i].Bytes())
		v.bytes.Add(int64(n))
		if err != nil {
			return
		}
	}
	v.frames.Add(int64(held.frames))
	v.fed.Store(true)
}

// pieceTaken is how much of media, asked for in pieces, is more than a pretext.
const pieceTaken = 4 << 10

// serve answers a request for a range of media that is size bytes long.
func (v *viewer) serve(rw http.ResponseWriter, r *http.Request, media io.ReadSeeker, size int64) {
	c := counted{ResponseWriter: rw, v: v}
	http.ServeContent(&c, r, "", time.Time{}, media)
	if c.n >= min(size, pieceTaken) {
		v.fed.Store(true)
	}
}

// sendText answers with a playlist, with the viewer's query between its pieces.
func (v *viewer) sendText(rw http.ResponseWriter, r *http.Request, pieces []string) {
	v.server.begin(rw, playlistType, false)
	size := (len(pieces) - 1) * len(v.query)
	for _, p := range pieces {
		size += len(p)
	}
	rw.Header().Set("Content-Length", strconv.Itoa(size))
	if r.Method == http.MethodHead {
		return
	}
	for i, p := range pieces {
		if i > 0 {
			io.WriteString(rw, v.query)
		}
		if _, err := io.WriteString(rw, p); err != nil {
			return
		}
	}
	v.bytes.Add(int64(size))
}
