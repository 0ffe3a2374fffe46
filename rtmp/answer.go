package rtmp

import "fmt"

// Accept tells the client that its request is granted, and flushes. A
// publisher may then send messages up to Limits.Message; to a player the
// caller sends metadata and media on message stream req.StreamID.
//
// For a publisher it belongs to the goroutine that reads; for a player, as
// Refuse and End do for both, it only writes, and another may read meanwhile.
//
// After End or Refuse, before it closes the connection, the caller closes the write
// side and reads for a limited time until the client closes: closing while received
// bytes are unread resets the connection, and the client may lose the last bytes sent
// to it.
func (c *Conn) Accept(req *Request) error {
	needs(req, "Accept")
	if err := c.writeEvent(EventStreamBegin, req.StreamID); err != nil {
		return err
	}
	write := c.acceptPlay
	if req.Kind == Publish {
		write = c.acceptPublish
	}
	if err := write(req); err != nil {
		return err
	}
	return c.Flush()
}

func (c *Conn) acceptPublish(req *Request) error {
	c.in.confined = false
	return c.WriteStatus(req.StreamID, "status", "NetStream.Publish.Start", req.Stream+" is now published.")
}

func (c *Conn) acceptPlay(req *Request) error {
	if err := c.WriteStatus(req.StreamID, "status", "NetStream.Play.Reset", "Playing and resetting "+req.Stream+"."); err != nil {
		return err
	}
	if err := c.WriteStatus(req.StreamID, "status", "NetStream.Play.Start", "Started playing "+req.Stream+"."); err != nil {
		return err
	}
	// Flash may look at the samples of both kinds of media. The notice
	// NetStream.Data.Start, which some servers send here too, is left out: for
	// FFmpeg it is a stream of its own.
	return c.writeData(req.StreamID, "|RtmpSampleAccess", true, true)
}

// Codes for Refuse.
const (
	PublishBadName     = "NetStream.Publish.BadName" // the name has a publisher
	PublishDenied      = "NetStream.Publish.Denied"
	PlayStreamNotFound = "NetStream.Play.StreamNotFound"
	PlayFailed         = "NetStream.Play.Failed"
)

// Refuse tells the client that its request is refused, with one of
// the codes above or another, and a description for people. It flushes. The
// client may ask for something else: ReadRequest can be called again.
func (c *Conn) Refuse(req *Request, code, description string) error {
	needs(req, "Refuse")
	if err := c.WriteStatus(req.StreamID, "error", code, description); err != nil {
		return err
	}
	return c.Flush()
}

// End tells the client that the stream is over, and flushes: a player that
// there comes no more, a publisher that it publishes no longer.
func (c *Conn) End(req *Request) error {
	needs(req, "End")
	if req.Kind == Publish {
		if err := c.WriteStatus(req.StreamID, "status", "NetStream.Unpublish.Success", req.Stream+" is now unpublished."); err != nil {
			return err
		}
		return c.Flush()
	}
	if err := c.writeEvent(EventStreamEOF, req.StreamID); err != nil {
		return err
	}
	if err := c.WriteStatus(req.StreamID, "status", "NetStream.Play.UnpublishNotify", req.Stream+" is now unpublished."); err != nil {
		return err
	}
	if err := c.WriteStatus(req.StreamID, "status", "NetStream.Play.Stop", "Stopped playing "+req.Stream+"."); err != nil {
		return err
	}
	return c.Flush()
}

// Action is what a command of a client that publishes or plays means for the
// server.
type Action uint8

// The actions.
const (
	None   Action = iota // nothing: it is answered where it has to be
	Pause                // send no media until Resume
	Resume               // go on
	Close                // the stream is over; ReadRequest can be called for the next
)

// Answer deals with a command that came from ReadMessage on a connection that
// publishes or plays: it answers what has to be answered, flushes, and says
// what the caller has to do. m is borrowed until it returns. Publish and play
// while a stream goes on, and what cannot be read as a command, are
// ErrProtocol. As with ReadMessage, that an answer cannot be sent is not an
// error here but of the next write: the client may have gone, and have said
// before that it would.
func (c *Conn) Answer(m Message) (Action, error) {
	cmd, err := ParseCommand(m)
	if err != nil {
		return None, err
	}
	action := None
	switch cmd.Name {
	case "connect", "publish", "play":
		return None, fmt.Errorf("%w: %s while a stream goes on", ErrProtocol, cmd.Name)
	case "deleteStream", "closeStream":
		return Close, nil
	case "pause":
		action = c.pause(cmd)
	case "seek":
		// A live stream has one place. Flash waits for the answer.
		_ = c.WriteStatus(cmd.StreamID, "error", "NetStream.Seek.Failed", "A live stream cannot be sought in.")
	default:
		_ = c.call(cmd)
	}
	_ = c.Flush()
	return action, nil
}

// pause answers a pause command (section 7.2.2.8).
func (c *Conn) pause(cmd Command) Action {
	if on, _ := cmd.Arg(1).(bool); on {
		_ = c.WriteStatus(cmd.StreamID, "status", "NetStream.Pause.Notify", "Paused.")
		return Pause
	}
	_ = c.WriteStatus(cmd.StreamID, "status", "NetStream.Unpause.Notify", "Resumed.")
	return Resume
}
