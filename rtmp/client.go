package rtmp

import (
	"fmt"

	"github.com/sluice-go/sluice/amf0"
)

// ConnectOptions say what a client connects to. App is needed, and TCURL by
// many servers; the rest may be left empty.
type ConnectOptions struct {
	App      string // the application: "live"
	TCURL    string // its address: "rtmp://host/live"
	FlashVer string // what the client is; that of a common encoder when empty
	SwfURL   string
	PageURL  string
}

// encoderVersion is the FlashVer of common encoders. Some servers let no other client
// publish.
const encoderVersion = "FMLE/3.0 (compatible; Sluice)"

// Connect connects to an application. A refusal is a *StatusError. After a
// deadline or sluice.ErrShort it can be called again, with the same options.
func (c *Conn) Connect(o ConnectOptions) error {
	if c.client.waiting == stepIdle {
		if err := c.sendConnect(o); err != nil {
			return err
		}
		c.client.waiting = stepConnect
	}
	cmd, err := c.wait()
	if err != nil {
		return err
	}
	for i := range 2 {
		if caps := parseCapabilities(cmd.Object(i)); c.peer.IsZero() {
			c.peer = caps
		}
	}
	return nil
}

func (c *Conn) sendConnect(o ConnectOptions) error {
	if o.FlashVer == "" {
		o.FlashVer = encoderVersion
	}
	object := amf0.Object{
		{Name: "app", Value: o.App},
		{Name: "type", Value: "nonprivate"},
		{Name: "flashVer", Value: o.FlashVer},
		{Name: "tcUrl", Value: o.TCURL},
	}
	for _, p := range [...]amf0.Property{{Name: "swfUrl", Value: o.SwfURL}, {Name: "pageUrl", Value: o.PageURL}} {
		if p.Value != "" {
			object = append(object, p)
		}
	}
	object = append(object,
		amf0.Property{Name: "fpad", Value: false},
		amf0.Property{Name: "capabilities", Value: 15.0},
		// All codecs that FLV had numbers for (section 7.2.1.1).
		amf0.Property{Name: "audioCodecs", Value: 4071.0},
		amf0.Property{Name: "videoCodecs", Value: 252.0},
		amf0.Property{Name: "videoFunction", Value: 1.0},
	)
	object = c.options.Capabilities.appendTo(object)
	c.mu.Lock()
	err := c.out.SetChunkSize(c.options.ChunkSize)
	if err == nil {
		err = c.out.writeControl(TypeWindowAckSize, c.options.WindowAckSize)
		c.asked = c.options.WindowAckSize
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if err := c.ask(0, "connect", object); err != nil {
		return err
	}
	return c.Flush()
}

// PeerCapabilities returns what the other side has said of enhanced RTMP when
// it connected or was connected to. The result is borrowed and not to be
// changed.
func (c *Conn) PeerCapabilities() Capabilities { return c.peer }

// StreamID returns the message stream that a client publishes or plays on, 0
// before that.
func (c *Conn) StreamID() uint32 { return c.client.streamID }

// Publish begins to publish the stream name, which may have a query behind it.
// Messages are then written with StreamID and the caller flushes. A refusal is
// a *StatusError. After a deadline or sluice.ErrShort it can be called again,
// with the same name.
func (c *Conn) Publish(name string) error { return c.begin(Publish, name) }

// Play begins to play the live stream name, which may have a query behind it:
// ReadMessage returns what is played. A refusal is a *StatusError. After a
// deadline or sluice.ErrShort it can be called again, with the same name.
func (c *Conn) Play(name string) error { return c.begin(Play, name) }

func (c *Conn) begin(kind Kind, name string) error {
	s := &c.client
	if s.waiting == stepIdle {
		if err := c.create(kind, name); err != nil {
			return err
		}
		s.kind, s.name, s.waiting = kind, name, stepCreate
	}
	if s.waiting == stepCreate {
		cmd, err := c.wait()
		if err != nil {
			return err
		}
		if s.streamID = toUint32(cmd.Number(1)); s.streamID == 0 {
			return fmt.Errorf("%w: createStream gave no message stream", ErrProtocol)
		}
		if err := c.start(kind, name); err != nil {
			return err
		}
		s.waiting = stepStart
	}
	_, err := c.wait()
	return err
}

// create asks for a message stream, with the notices before it that servers
// expect of a publisher.
func (c *Conn) create(kind Kind, name string) error {
	if kind == Publish {
		for _, method := range [...]string{"releaseStream", "FCPublish"} {
			if err := c.ask(0, method, nil, name); err != nil {
				return err
			}
		}
	}
	if err := c.ask(0, "createStream", nil); err != nil {
		return err
	}
	return c.Flush()
}

// buffered is how much a player says that it buffers, in milliseconds: some
// servers send as much at once.
const buffered = 1000

func (c *Conn) start(kind Kind, name string) error {
	id := c.client.streamID
	var err error
	if kind == Publish {
		err = c.ask(id, "publish", nil, name, "live")
	} else {
		// -2: a live stream, or else a recorded one (section 7.2.2.1).
		err = c.ask(id, "play", nil, name, -2.0)
		if err == nil {
			err = c.writeEvent(EventSetBufferLength, id, buffered)
		}
	}
	if err != nil {
		return err
	}
	return c.Flush()
}

// ask writes a command with the next transaction number, which is that of the
// answer that wait waits for.
func (c *Conn) ask(streamID uint32, name string, args ...amf0.Value) error {
	c.client.transaction++
	c.client.number = c.client.transaction
	return c.WriteCommand(streamID, name, c.client.number, args...)
}

// wait reads messages until what the client waits for is answered. With a
// refusal or an answer the client waits for nothing any more.
func (c *Conn) wait() (Command, error) {
	s := &c.client
	for c.pending < c.in.limits.Requests {
		m, err := c.ReadMessage()
		if err != nil {
			return Command{}, err
		}
		c.pending++
		if m.Type != TypeCommandAMF0 && m.Type != TypeCommandAMF3 {
			if s.waiting == stepStart && s.kind == Play {
				// It plays already. The caller gets this one from ReadMessage.
				c.unread.m = m //sluice:moved
				c.unread.ok = true
				s.waiting, c.pending = stepIdle, 0
				return Command{}, nil
			}
			m.Release()
			continue
		}
		cmd, err := ParseCommand(m)
		m.Release()
		if err != nil {
			return Command{}, err
		}
		done, err := s.answers(cmd)
		if err != nil {
			s.waiting, c.pending = stepIdle, 0
			return Command{}, err
		}
		if done {
			s.waiting, c.pending = stepIdle, 0
			return cmd, nil
		}
	}
	return Command{}, fmt.Errorf("%w: %d messages without an answer", ErrTooMany, c.pending)
}

// answers reports whether cmd is the answer that the client waits for.
func (s *clientSession) answers(cmd Command) (bool, error) {
	switch cmd.Name {
	case "_result", "_error":
		// Answers to the notices before are of no interest.
		if cmd.Transaction != s.number {
			return false, nil
		}
		// A server may answer publish and play this way as well, and then
		// says with onStatus how it ended.
		return s.waiting != stepStart, cmd.refusal()
	case "onStatus":
		if err := cmd.refusal(); err != nil {
			return false, err
		}
		_, code, _, _ := cmd.Status()
		return s.waiting == stepStart && (code == "NetStream.Publish.Start" || code == "NetStream.Play.Start"), nil
	case "close":
		return false, &StatusError{Level: "error", Code: "NetConnection.Connect.Closed", Description: cmd.String(1)}
	}
	return false, nil
}

// Close tells the server that a client's stream is over, and flushes. Without
// a stream it does nothing. It does not close the connection.
func (c *Conn) Close() error {
	s := &c.client
	if s.streamID == 0 {
		return nil
	}
	if s.kind == Publish {
		if err := c.ask(0, "FCUnpublish", nil, s.name); err != nil {
			return err
		}
	}
	if err := c.ask(0, "deleteStream", nil, float64(s.streamID)); err != nil {
		return err
	}
	s.streamID, s.waiting = 0, stepIdle
	return c.Flush()
}
