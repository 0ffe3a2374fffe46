package handover

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	magic   = "SLUP"
	headLen = 16 // magic, kind, whether there is a descriptor, two of nothing, lengths of JSON and bytes
)

// maxReason is how much of a refusal's reason is sent and shown, in bytes.
const maxReason = 400

// A Conn sends and receives messages.
type Conn struct {
	c *net.UnixConn

	mu   sync.Mutex
	over bool // interrupted
}

// A Message is one that was received.
type Message struct {
	Kind    Kind
	State   []byte // JSON
	Content []byte
	File    *os.File // transferred; nil: the message came without a descriptor
}

// NewConn returns a Conn over c, transferred, whose peer must be a process of this user,
// or the superuser's.
func NewConn(c *net.UnixConn) (*Conn, error) {
	if err := checkPeer(c); err != nil {
		c.Close()
		return nil, err
	}
	return &Conn{c: c}, nil
}

// Dial connects to the process that listens at a socket.
func Dial(path string) (*Conn, error) {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("handover: %w", err)
	}
	return NewConn(c)
}

// Within sets how long all that follows may take together.
func (c *Conn) Within(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.c.SetDeadline(time.Now().Add(d))
	}
}

// Close closes the connection.
func (c *Conn) Close() { c.c.Close() }

// Interrupt makes what waits, and later calls, fail. Any goroutine may call it.
func (c *Conn) Interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.c.SetDeadline(time.Unix(1, 0))
}

// Send sends a message. state becomes its JSON, none for nil; content is borrowed until Send returns,
// of, when it is not nil, is what the descriptor belongs to: it stays as it is.
func (c *Conn) Send(kind Kind, state any, content []byte, of syscall.Conn) error {
	var text []byte
	if state != nil {
		var err error
		if text, err = json.Marshal(state); err != nil {
			return fmt.Errorf("handover: %w", err)
		}
	}
	if len(text) > kind.most() || len(content) > kind.mostContent() {
		return fmt.Errorf("%w: %d and %d bytes in a message of kind %d", ErrTooLong, len(text), len(content), kind)
	}
	head := append(make([]byte, 0, headLen+len(text)), magic...)
	head = append(head, byte(kind), 0, 0, 0)
	head = binary.BigEndian.AppendUint32(head, uint32(len(text)))
	head = binary.BigEndian.AppendUint32(head, uint32(len(content)))
	if of != nil {
		head[5] = 1
		if err := sendWith(c.c, head, of); err != nil {
			return err
		}
		head = head[:0]
	}
	for _, p := range [][]byte{append(head, text...), content} {
		if len(p) == 0 {
			continue
		}
		if _, err := c.c.Write(p); err != nil {
			return fmt.Errorf("handover: %w", err)
		}
	}
	return nil
}

// Refuse sends a refusal. An error does not matter: the other sees the end instead.
func (c *Conn) Refuse(reason string) {
	_ = c.Send(KindRefuse, Refusal{reason[:min(len(reason), maxReason)]}, nil, nil)
}

// Reason returns the refusal that the other process sent before it ended the connection, if
// it did, and otherwise err, which is Send's.
func (c *Conn) Reason(err error) error {
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		return err
	}
	if _, why := c.Receive(); errors.Is(why, ErrRefused) {
		return why
	}
	return err
}

// most is how long the JSON of a message may be.
func (k Kind) most() int {
	switch k {
	case KindStream, KindSession, KindBans, KindPushes, KindRecordings:
		return MaxState
	}
	return MaxHello
}

func (k Kind) mostContent() int {
	if k == KindStream {
		return MaxContent
	}
	return 0
}

// Receive returns the next message. A refusal is an error that matches ErrRefused.
func (c *Conn) Receive() (m Message, err error) {
	var head [headLen]byte
	defer func() {
		if err != nil && m.File != nil {
			m.File.Close()
		}
	}()
	if m.File, err = receiveWith(c.c, head[:]); err != nil {
		return m, err
	}
	m.Kind = Kind(head[4])
	text, content := binary.BigEndian.Uint32(head[8:]), binary.BigEndian.Uint32(head[12:])
	switch {
	case string(head[:4]) != magic || head[5] > 1 || (head[5] == 1) != (m.File != nil):
		return m, fmt.Errorf("%w: it begins with % x", ErrProtocol, head)
	case int64(text) > int64(m.Kind.most()) || int64(content) > int64(m.Kind.mostContent()):
		return m, fmt.Errorf("%w: %d and %d bytes in a message of kind %d", ErrTooLong, text, content, m.Kind)
	}
	if m.State, err = c.read(int(text)); err == nil {
		m.Content, err = c.read(int(content))
	}
	if err != nil {
		return m, err
	}
	if m.Kind == KindRefuse {
		var r Refusal
		if m.Into(&r) != nil || r.Reason == "" {
			r.Reason = "no reason given"
		}
		return m, fmt.Errorf("%w: %.*s", ErrRefused, maxReason, r.Reason)
	}
	return m, nil
}

// read reads n bytes into memory that grows with what has come.
func (c *Conn) read(n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	const step = 4 << 20
	p := make([]byte, 0, min(n, step))
	for len(p) < n {
		at := len(p)
		if at == cap(p) {
			p = append(make([]byte, 0, min(n, 4*cap(p))), p...)
		}
		p = p[:cap(p)]
		if _, err := io.ReadFull(c.c, p[at:]); err != nil {
			return nil, ending(err)
		}
	}
	return p, nil
}

// ending is the error of a connection that ended inside a message.
func ending(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("handover: %w", err)
}

// Expect is Receive of a message of one kind, whose JSON it reads into state, unless that
// is nil.
func (c *Conn) Expect(kind Kind, state any) (Message, error) {
	m, err := c.Receive()
	if err == nil && m.Kind != kind {
		err = fmt.Errorf("%w: kind %d, want %d", ErrProtocol, m.Kind, kind)
	}
	if err == nil && state != nil {
		err = m.Into(state)
	}
	if err != nil && m.File != nil {
		m.File.Close()
		m.File = nil
	}
	return m, err
}

// Into reads a message's JSON.
func (m *Message) Into(state any) error {
	if err := json.Unmarshal(m.State, state); err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return nil
}

// GiveUp ends the waiting for Taken, which is a head and nothing else, so that a wait that
// is cut short has read all of it or nothing, and reports whether it has come after all. After it
// the new process cannot send it any more: one of the two owns everything, and both know
// which.
func (c *Conn) GiveUp() (taken bool) {
	if c.c.CloseRead() != nil {
		return false // the connection has ended, and Receive has seen all that came before
	}
	// What was sent before lies in the socket: this waits for nothing, also after Interrupt.
	c.c.SetDeadline(time.Now().Add(TakeTime))
	m, err := c.Receive()
	return err == nil && m.Kind == KindTaken
}
