package rtsp

import "github.com/sluice-go/sluice/mem"

// Methods (RFC 2326, section 10; RFC 7826, section 13). Others are allowed.
const (
	Options      = "OPTIONS"
	Describe     = "DESCRIBE"
	Announce     = "ANNOUNCE"
	Setup        = "SETUP"
	Play         = "PLAY"
	Pause        = "PAUSE"
	Record       = "RECORD"
	Teardown     = "TEARDOWN"
	GetParameter = "GET_PARAMETER"
	SetParameter = "SET_PARAMETER"
	Redirect     = "REDIRECT"
	PlayNotify   = "PLAY_NOTIFY" // RFC 7826 only
)

// Versions of the protocol. A message whose Version is empty is written as
// Version10.
const (
	Version10 = "RTSP/1.0"
	Version20 = "RTSP/2.0"
)

// Request is a request (RFC 2326, section 6; RFC 7826, section 7).
type Request struct {
	Method  string
	URL     string // absolute, or "*" for the server as such
	Version string
	Header  Header
	Body    mem.Buf // retained; not Valid when there is none
}

// Release releases the body, if there is one.
func (m *Request) Release() { release(&m.Body) }

// Reply returns a response to m of its version, with what a response has to
// repeat: CSeq (RFC 2326, section 12.17) and Timestamp (section 12.38).
func (m *Request) Reply(status int) *Response {
	reply := &Response{Version: m.Version, Status: status, Reason: StatusText(status)}
	for _, name := range []string{"CSeq", "Timestamp"} {
		if v, ok := m.Header.Lookup(name); ok {
			reply.Header.Add(name, v)
		}
	}
	return reply
}

// Response is a response (RFC 2326, section 7; RFC 7826, section 8). Request.Reply makes
// one with all that it needs.
type Response struct {
	Version string
	Status  int    // 100 to 999
	Reason  string // for people; written as it is, also empty, though some peers want one: StatusText
	Header  Header
	Body    mem.Buf // retained; not Valid when there is none
}

// Release releases the body, if there is one.
func (m *Response) Release() { release(&m.Body) }

// bodiless reports whether a response ends with its header whatever that says:
// RFC 2326, section 4.4.
func bodiless(status int) bool { return status < 200 || status == 204 || status == 304 }

// Interleaved is a binary frame between the messages (RFC 2326, section 10.12;
// RFC 7826, section 14): an RTP or RTCP packet, as Channel says.
type Interleaved struct {
	Channel uint8
	Payload mem.Buf // retained
}

// Release releases the payload.
func (f *Interleaved) Release() { release(&f.Payload) }

// Item is what Reader.Read returns: one of three.
type Item struct {
	Request     *Request
	Response    *Response
	Interleaved Interleaved // when the other two are nil
}

// Release releases what the item holds.
func (i *Item) Release() {
	switch {
	case i.Request != nil:
		i.Request.Release()
	case i.Response != nil:
		i.Response.Release()
	default:
		i.Interleaved.Release()
	}
}

func release(b *mem.Buf) {
	if b.Valid() {
		b.Release()
	}
}
