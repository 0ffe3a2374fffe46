package rtmp

// ReadMessage returns the next message that is media, data or a command, its
// payload retained. Data and commands marked as AMF 3 that are AMF 0 behind one
// byte, as Flash sends them, are returned as AMF 0; an aggregate message is
// returned part by part. Data can be a word to the player alone, which a recorder
// leaves out: a server's |RtmpSampleAccess, which Accept sends too.
//
// What the protocol needs meanwhile is done: chunk sizes, aborts,
// acknowledgements and pings, which are answered at once or, where more input
// is at hand already, together. Shared objects and messages of unknown types
// are dropped. A peer that sends nothing else keeps ReadMessage from
// returning: the caller sets a deadline on the connection before each call. A
// reply that cannot be sent is not an error here, where what has been received
// is still to be returned, but of the next write.
//
// io.EOF says that the stream ended between messages. After a deadline or
// sluice.ErrShort the call can be repeated.
func (c *Conn) ReadMessage() (Message, error) {
	c.made()
	if c.unread.ok {
		m := c.unread.m //sluice:moved
		c.unread = heldMessage{}
		return m, nil
	}
	c.late.reading.Store(true)
	m, err := c.readMessage()
	c.late.reading.Store(false)
	return m, err
}

func (c *Conn) readMessage() (Message, error) {
	var m Message
	for {
		if c.parts.left() {
			ok, err := c.parts.next(&m)
			if err != nil {
				return Message{}, err
			}
			if ok {
				return m, nil
			}
			continue
		}
		if c.r.Buffered() == 0 {
			c.settle()
		}
		done, err := c.in.readChunk(&m)
		if err != nil {
			return Message{}, err
		}
		c.acknowledge()
		if !done {
			continue
		}
		ours, err := c.sort(&m)
		if err != nil {
			return Message{}, err
		}
		if !ours || c.parts.left() {
			c.settle()
		}
		if !ours {
			return m, nil
		}
	}
}

// sort deals with messages that are not for the caller and reports whether m
// was one: it is then released, or kept elsewhere, as it is with an error.
func (c *Conn) sort(m *Message) (ours bool, err error) {
	switch m.Type {
	case TypeAudio, TypeVideo, TypeDataAMF0, TypeCommandAMF0:
		return false, nil
	case TypeDataAMF3, TypeCommandAMF3:
		p := m.Payload.Bytes()
		if len(p) == 0 || p[0] != 0 {
			return false, nil
		}
		rest := m.Payload.RetainedSlice(1, len(p))
		m.Payload.Release()
		m.Payload = rest //sluice:moved
		m.Type += TypeDataAMF0 - TypeDataAMF3
		return false, nil
	case TypeAggregate:
		c.parts.start(m)
		return true, nil
	}
	err = c.control(m.Type, m.Payload.Bytes())
	m.Release()
	return true, err
}

// Recycle releases what the connection holds of messages that were not
// returned. The reader and the writer are the caller's, and not touched. An answer that is being
// sent is waited for: where another goroutine has written, close the connection before Recycle,
// and recycle the writer after it.
func (c *Conn) Recycle() {
	c.awaitLate()
	c.in.Recycle()
	c.parts.drop()
	if c.unread.ok {
		c.unread.m.Release()
		c.unread.ok = false
	}
}
