package rtmp

import (
	"fmt"
	"strings"

	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/mem"
)

// Command is a command message or the answer to one (specification, section
// 7.2). It belongs to its holder: nothing in it is borrowed.
type Command struct {
	Name        string
	Transaction float64 // 0: no answer is wanted
	Args        []amf0.Value
	StreamID    uint32 // the message stream that it came on
}

// commandLimits are enough for every command in use. Without them a command of
// the longest length could be as many values as it has bytes.
var commandLimits = amf0.Limits{Depth: 16, Values: 4096}

// ParseCommand reads the command in m, which is borrowed until it returns. What
// is not a name and further AMF 0 values is ErrProtocol, wrapped around the
// reason. A command without a number has transaction 0.
func ParseCommand(m Message) (Command, error) {
	p := m.bytes()
	switch m.Type {
	case TypeCommandAMF0:
	case TypeCommandAMF3:
		// Flash puts a zero byte before AMF 0 values.
		if len(p) > 0 && p[0] == 0 {
			p = p[1:]
		}
	default:
		return Command{}, fmt.Errorf("%w: %v is no command", ErrProtocol, m.Type)
	}
	values, err := commandLimits.ParseAll(p)
	if err != nil {
		return Command{}, fmt.Errorf("%w: command of %d bytes: %w", ErrProtocol, len(p), err)
	}
	if len(values) == 0 {
		return Command{}, fmt.Errorf("%w: empty command", ErrProtocol)
	}
	name, ok := values[0].(string)
	if !ok {
		return Command{}, fmt.Errorf("%w: command begins with %T, not with a name", ErrProtocol, values[0])
	}
	cmd := Command{Name: name, Args: values[1:], StreamID: m.StreamID}
	// FFmpeg as a server sends a name alone.
	if len(values) > 1 {
		if number, ok := values[1].(float64); ok {
			cmd.Transaction, cmd.Args = number, values[2:]
		}
	}
	return cmd, nil
}

// AppendCommand appends a command's payload: its name, the number of the
// transaction and the arguments, of which the first is the command object or
// nil. It fails, and returns dst as it was, when an argument is not an AMF 0
// value. dst is borrowed until the call returns; the result is the caller's.
func AppendCommand(dst []byte, name string, transaction float64, args ...amf0.Value) ([]byte, error) {
	out, err := appendValues(dst, name, transaction)
	if err == nil {
		out, err = appendValues(out, args...)
	}
	if err != nil {
		return dst, err
	}
	return out, nil
}

func appendValues(dst []byte, values ...amf0.Value) ([]byte, error) {
	var err error
	for _, v := range values {
		if dst, err = amf0.Append(dst, v); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// Arg returns argument i, nil when there is none.
func (c Command) Arg(i int) amf0.Value {
	if 0 <= i && i < len(c.Args) {
		return c.Args[i]
	}
	return nil
}

// String returns argument i if it is a string, and otherwise nothing.
func (c Command) String(i int) string {
	s, _ := c.Arg(i).(string)
	return s
}

// Number returns argument i if it is a number, and otherwise 0.
func (c Command) Number(i int) float64 {
	f, _ := c.Arg(i).(float64)
	return f
}

// Object returns the properties of argument i, as amf0.Properties does.
func (c Command) Object(i int) amf0.Object {
	return amf0.Properties(c.Arg(i))
}

// Status returns what an onStatus, or the information of an _error, says, and
// reports whether c is one.
func (c Command) Status() (level, code, description string, ok bool) {
	if c.Name != "onStatus" && c.Name != "_error" {
		return "", "", "", false
	}
	o := c.Object(1)
	if o == nil {
		o = c.Object(0)
	}
	return o.String("level"), o.String("code"), o.String("description"), true
}

// refusal returns the error that c stands for, if it does.
func (c Command) refusal() error {
	level, code, description, ok := c.Status()
	if !ok || c.Name != "_error" && level != "error" {
		return nil
	}
	return &StatusError{Level: level, Code: code, Description: description}
}

// WriteCommand writes a command on the message stream streamID. Flush sends it.
// Arguments that are not AMF 0 values are an error, and nothing is written.
func (c *Conn) WriteCommand(streamID uint32, name string, transaction float64, args ...amf0.Value) error {
	p, err := AppendCommand(nil, name, transaction, args...)
	if err != nil {
		return err
	}
	return c.WriteMessage(Message{Type: TypeCommandAMF0, StreamID: streamID, Payload: mem.Wrap(p, nil)})
}

// longestText is how much of a text for people is sent, in bytes. It may have a
// name in it that the peer chose, and replies are to be short.
const longestText = 256

func clip(s string) string { return strings.ToValidUTF8(s[:min(len(s), longestText)], "") }

// WriteStatus writes an onStatus command on the message stream streamID; level
// is "status", "warning" or "error". Flush sends it. Of the description the
// first 256 bytes are sent.
func (c *Conn) WriteStatus(streamID uint32, level, code, description string) error {
	return c.WriteCommand(streamID, "onStatus", 0, nil, amf0.Object{
		{Name: "level", Value: level},
		{Name: "code", Value: code},
		{Name: "description", Value: clip(description)},
	})
}

// writeData writes a data message of the values.
func (c *Conn) writeData(streamID uint32, values ...amf0.Value) error {
	p, err := appendValues(nil, values...)
	if err != nil {
		return err
	}
	return c.WriteMessage(Message{Type: TypeDataAMF0, StreamID: streamID, Payload: mem.Wrap(p, nil)})
}
