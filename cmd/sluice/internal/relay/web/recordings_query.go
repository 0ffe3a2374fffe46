package web

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

const (
	// maxListed is how many recordings are listed at once.
	maxListed = 1000
	// maxClips is how many clips are sent at once, and to one address, maxClip how long one
	// may be.
	maxClips           = 16
	maxClipsPerAddress = 4
	maxClip            = time.Hour
)

// span reads the times of a clip: RFC 3339, or as long before now, such as -30s. Without
// to it ends now.
func span(q url.Values, now time.Time) (from, to time.Time, err error) {
	to = now
	if from, err = session.Moment(q, "from", now); err != nil {
		return from, to, err
	}
	if q.Has("to") {
		if to, err = session.Moment(q, "to", now); err != nil {
			return from, to, err
		}
	}
	switch length := to.Sub(from); {
	case length <= 0:
		err = fmt.Errorf("%w: to is not after from", session.ErrBadRequest)
	case length > maxClip:
		err = fmt.Errorf("%w: a clip of %v, at most %v", session.ErrBadRequest, length.Round(time.Second), maxClip)
	}
	return from, to, err
}

// paced writes an answer of any length: each part of it has to be taken within a time,
// not the whole. Parts of files are left to the kernel.
type paced struct {
	http.ResponseWriter
	within time.Duration
}

// pacedPart is how much a client has to take within that time.
const pacedPart = 1 << 20

func (p *paced) extend() {
	// It fails for tests' writers only.
	_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Now().Add(p.within))
}

func (p *paced) Write(b []byte) (n int, err error) {
	for len(b) > 0 && err == nil {
		p.extend()
		var k int
		k, err = p.ResponseWriter.Write(b[:min(len(b), pacedPart)])
		n, b = n+k, b[k:]
	}
	return n, err
}

// ReadFrom lets the kernel send a file: a reader that is limited hides it once only.
func (p *paced) ReadFrom(r io.Reader) (n int64, err error) {
	left := int64(1<<63 - 1)
	limited, ok := r.(*io.LimitedReader)
	if ok {
		r, left = limited.R, limited.N
	}
	for left > 0 {
		p.extend()
		part := min(left, pacedPart)
		k, err := io.CopyN(p.ResponseWriter, r, part)
		n, left = n+k, left-k
		if ok {
			limited.N -= k
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
