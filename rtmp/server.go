package rtmp

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/sluice-go/sluice/amf0"
)

// messageStream is the message stream that a server gives each client: a
// connection is for one stream at a time.
const messageStream = 1

// ReadRequest answers what a client says before it comes to the point (connect,
// releaseStream, FCPublish, createStream and the like) and returns what it
// wants: to publish or to play. Accept or Refuse answers that. When a stream
// has ended it can be called again for the next.
//
// Until Accept says that the client may publish, no message may be longer than
// Limits.Command; more than Limits.Requests messages before a request are
// ErrTooMany. The caller bounds the time by the connection's deadline; after
// one has passed, or after sluice.ErrShort, the call can be repeated.
func (c *Conn) ReadRequest() (*Request, error) {
	c.made()
	c.in.confined = true
	for c.pending < c.in.limits.Requests {
		m, err := c.ReadMessage()
		if err != nil {
			return nil, err
		}
		c.pending++
		if m.Type != TypeCommandAMF0 && m.Type != TypeCommandAMF3 {
			// What a publisher sends on after its end.
			m.Release()
			continue
		}
		cmd, err := ParseCommand(m)
		m.Release()
		if err != nil {
			return nil, err
		}
		req, err := c.request(cmd)
		if err == nil && req == nil {
			err = c.Flush()
		}
		if err != nil {
			return nil, err
		}
		if req != nil {
			c.pending = 0
			return req, nil
		}
	}
	return nil, fmt.Errorf("%w: %d messages without publish or play", ErrTooMany, c.pending)
}

// request answers one command, or returns the request that it makes.
func (c *Conn) request(cmd Command) (*Request, error) {
	if cmd.Name == "connect" {
		return nil, c.connected(cmd)
	}
	if !c.server.connected {
		return nil, fmt.Errorf("%w: %.40q before connect", ErrProtocol, cmd.Name)
	}
	switch cmd.Name {
	case "publish":
		return c.server.request(Publish, cmd), nil
	case "play":
		return c.server.request(Play, cmd), nil
	}
	return nil, c.call(cmd)
}

// call answers the commands that have one meaning whatever goes on.
func (c *Conn) call(cmd Command) error {
	switch cmd.Name {
	case "createStream":
		return c.WriteCommand(0, "_result", cmd.Transaction, nil, float64(messageStream))
	case "getStreamLength":
		// A live stream has none.
		return c.WriteCommand(0, "_result", cmd.Transaction, nil, 0.0)
	case "FCPublish":
		return c.notify(cmd, "onFCPublish", "NetStream.Publish.Start")
	case "FCUnpublish":
		return c.notify(cmd, "onFCUnpublish", "NetStream.Unpublish.Success")
	case "FCSubscribe":
		return c.notify(cmd, "onFCSubscribe", "NetStream.Play.Start")
	case "releaseStream", "FCUnsubscribe", "_checkbw", "checkBandwidth":
		return c.result(cmd)
	case "deleteStream", "closeStream", "_result", "_error", "onStatus", "onBWDone",
		"receiveAudio", "receiveVideo", "pause", "seek", "setBufferLength":
		return nil
	}
	if cmd.Transaction == 0 {
		return nil
	}
	return c.WriteCommand(0, "_error", cmd.Transaction, nil, amf0.Object{
		{Name: "level", Value: "error"},
		{Name: "code", Value: "NetConnection.Call.Failed"},
		{Name: "description", Value: "no such method"},
	})
}

// result answers a call that has nothing to tell.
func (c *Conn) result(cmd Command) error {
	if cmd.Transaction == 0 {
		return nil
	}
	return c.WriteCommand(0, "_result", cmd.Transaction, nil, amf0.Undefined{})
}

// notify answers a call as result does and sends the notice that some encoders
// wait for.
func (c *Conn) notify(cmd Command, name, code string) error {
	if err := c.result(cmd); err != nil {
		return err
	}
	return c.WriteCommand(0, name, 0, nil, amf0.Object{
		{Name: "level", Value: "status"},
		{Name: "code", Value: code},
		{Name: "description", Value: clip(cmd.String(1))},
	})
}

// connected answers connect (section 7.2.1.1).
func (c *Conn) connected(cmd Command) error {
	o := cmd.Object(0)
	if o == nil || c.server.connected {
		return fmt.Errorf("%w: connect without an object, or again", ErrProtocol)
	}
	app, query, _ := strings.Cut(o.String("app"), "?")
	_, tcQuery, _ := strings.Cut(o.String("tcUrl"), "?")
	c.peer = parseCapabilities(o)
	c.server = serverSession{connected: true, object: o, queries: []string{query, tcQuery}}
	c.server.said = Request{
		App: strings.Trim(app, "/"), TCURL: o.String("tcUrl"), PageURL: o.String("pageUrl"), FlashVer: o.String("flashVer"),
		StreamID: messageStream, Capabilities: c.peer,
	}

	c.mu.Lock()
	err := c.out.writeControl(TypeWindowAckSize, c.options.WindowAckSize)
	if err == nil {
		c.asked = c.options.WindowAckSize
		err = c.out.writeBandwidth(c.options.WindowAckSize)
	}
	if err == nil {
		err = c.out.SetChunkSize(c.options.ChunkSize)
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	own := c.options.Capabilities.reply(c.peer)
	properties := amf0.Object{
		// Clients look for a Flash Media Server that is not too old.
		{Name: "fmsVer", Value: "FMS/3,5,7,7009"},
		{Name: "capabilities", Value: 31.0},
		{Name: "mode", Value: 1.0},
	}
	information := amf0.Object{
		{Name: "level", Value: "status"},
		{Name: "code", Value: "NetConnection.Connect.Success"},
		{Name: "description", Value: "Connection succeeded."},
		{Name: "objectEncoding", Value: 0.0},
	}
	// The specification leaves open which of the two objects these stand in,
	// and clients look in either.
	return c.WriteCommand(0, "_result", cmd.Transaction, own.appendTo(properties), own.appendTo(information))
}

// request returns what a publish or play command asks for.
func (s *serverSession) request(kind Kind, cmd Command) *Request {
	name, query, _ := strings.Cut(cmd.String(1), "?")
	req := new(Request)
	*req = s.said
	req.Kind, req.Stream, req.Query = kind, strings.Trim(name, "/"), make(url.Values)
	req.Connect, s.object = s.object, nil
	if kind == Publish {
		req.PublishType = cmd.String(2)
	}
	for _, q := range append([]string{query}, s.queries...) {
		// What cannot be parsed of a query is left out.
		values, _ := url.ParseQuery(firstParameters(q))
		for k, v := range values {
			req.Query[k] = append(req.Query[k], v...)
		}
	}
	return req
}

// mostParameters is how many parameters of one query are looked at: one of two bytes is a list and a
// place in a map, which the holder of a Request keeps.
const mostParameters = 256

func firstParameters(query string) string {
	at := 0
	for range mostParameters {
		i := strings.IndexByte(query[at:], '&')
		if i < 0 {
			return query
		}
		at += i + 1
	}
	return query[:at-1]
}
