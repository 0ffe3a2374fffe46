package rtmp

import (
	"errors"
	"reflect"
	"testing"

	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/mem"
)

func TestParseCommand(t *testing.T) {
	object := chunkObject("code", "x")
	for _, c := range []struct {
		name string
		typ  MessageType
		p    []byte
		want Command
	}{
		{"a call", TypeCommandAMF0, mustCommand(t, "createStream", 4, nil), Command{"createStream", 4, []amf0.Value{nil}, 1}},
		{"arguments", TypeCommandAMF0, mustCommand(t, "play", 0, nil, "s", -2.0, true),
			Command{"play", 0, []amf0.Value{nil, "s", -2.0, true}, 1}},
		{"behind the byte of AMF 3", TypeCommandAMF3, append([]byte{0}, mustCommand(t, "x", 1, object)...), Command{"x", 1, []amf0.Value{object}, 1}},
		{"of AMF 3 without that byte", TypeCommandAMF3, mustCommand(t, "x", 1, object), Command{"x", 1, []amf0.Value{object}, 1}},
		{"a name alone", TypeCommandAMF0, []byte("\x02\x00\x01x"), Command{"x", 0, []amf0.Value{}, 1}},
		{"no number", TypeCommandAMF0, []byte("\x02\x00\x01x\x05"), Command{"x", 0, []amf0.Value{nil}, 1}},
	} {
		got, err := ParseCommand(Message{Type: c.typ, StreamID: 1, Payload: mem.Wrap(c.p, nil)})
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
	for name, m := range map[string]Message{
		"media":        {Type: TypeVideo, Payload: mem.Wrap(mustCommand(t, "x", 1), nil)},
		"no payload":   {Type: TypeCommandAMF0},
		"no name":      {Type: TypeCommandAMF0, Payload: mem.Wrap([]byte{5, 5}, nil)},
		"a cut value":  {Type: TypeCommandAMF0, Payload: mem.Wrap([]byte("\x02\x00\x09x"), nil)},
		"AMF 3 values": {Type: TypeCommandAMF3, Payload: mem.Wrap([]byte("\x11\x06\x03x"), nil)},
	} {
		if _, err := ParseCommand(m); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Arguments are asked for by place and kind; what is not there, or is something
// else, is the zero value.
func TestArgumentsOfACommand(t *testing.T) {
	c := Command{Args: []amf0.Value{nil, "s", 2.0, chunkObject("a", "b"), amf0.ECMAArray(chunkObject("c", "d")), amf0.TypedObject{Properties: chunkObject("e", "f")}}}
	if c.String(1) != "s" || c.String(2) != "" || c.String(99) != "" {
		t.Error("strings")
	}
	if c.Number(2) != 2 || c.Number(1) != 0 || c.Number(99) != 0 {
		t.Error("numbers")
	}
	if c.Object(3).String("a") != "b" || c.Object(4).String("c") != "d" || c.Object(5).String("e") != "f" || c.Object(0) != nil {
		t.Error("objects")
	}
	if c.Arg(0) != nil || c.Arg(99) != nil || c.Arg(-1) != nil {
		t.Error("no value")
	}
}

func TestStatusOfACommand(t *testing.T) {
	information := chunkObject("level", "error", "code", "NetStream.Play.Failed", "description", "why")
	for _, c := range []struct {
		cmd  Command
		code string
		ok   bool
	}{
		{Command{Name: "onStatus", Args: []amf0.Value{nil, information}}, "NetStream.Play.Failed", true},
		{Command{Name: "onStatus", Args: []amf0.Value{information}}, "NetStream.Play.Failed", true},
		{Command{Name: "_error", Args: []amf0.Value{nil, information}}, "NetStream.Play.Failed", true},
		{Command{Name: "onStatus"}, "", true},
		{Command{Name: "_result", Args: []amf0.Value{nil, information}}, "", false},
	} {
		level, code, _, ok := c.cmd.Status()
		if code != c.code || ok != c.ok || code != "" && level != "error" {
			t.Errorf("%+v: %q %q %v", c.cmd, level, code, ok)
		}
	}
}

func TestAppendCommandRefusesOtherValues(t *testing.T) {
	dst := []byte("before")
	got, err := AppendCommand(dst, "x", 1, struct{}{})
	if !errors.Is(err, amf0.ErrType) || string(got) != "before" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestMessageTypesHaveNames(t *testing.T) {
	if TypeVideo.String() != "video" || MessageType(99).String() != "message type 99" || Play.String() != "play" || Kind(9).String() != "kind 9" {
		t.Error(TypeVideo, MessageType(99), Play, Kind(9))
	}
}
