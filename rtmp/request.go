package rtmp

import (
	"fmt"
	"net/url"

	"github.com/sluice-go/sluice/amf0"
)

// Kind is what a client wants.
type Kind uint8

// The kinds of requests.
const (
	Publish Kind = iota + 1
	Play
)

// String returns "publish" or "play".
func (k Kind) String() string {
	switch k {
	case Publish:
		return "publish"
	case Play:
		return "play"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Request is what a client wants a server to do. It belongs to its holder. Strings
// are as the client sent them, of any content, and at most Limits.Command bytes long
// together.
type Request struct {
	Kind        Kind
	App         string     // the application, without slashes at its ends and without query
	Stream      string     // the stream's name, without query
	Query       url.Values // of the stream's name, then of the application, then of TCURL; the first 256 of each
	TCURL       string     // the address that was connected to
	PageURL     string
	FlashVer    string
	PublishType string      // "live", "record" or "append"; a client may leave it empty
	StreamID    uint32      // always 1
	Connect     amf0.Object // all that the client said when it connected; nil from the second request on
	// Capabilities are what the client said of enhanced RTMP.
	Capabilities Capabilities
}

// needs panics when there is no request for the method op.
func needs(req *Request, op string) {
	if req == nil {
		panic("rtmp: Conn." + op + " without a request")
	}
}

// serverSession is what a client has said so far.
type serverSession struct {
	connected bool
	said      Request     // by connect, for all requests
	object    amf0.Object // until the first request
	queries   []string    // of app and tcUrl
}
