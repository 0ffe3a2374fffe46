package relay

import (
	"bytes"
	"errors"
	"testing"
)

// clientSaying is a client whose words are kept.
func clientSaying(publish bool) (*rtmpClient, *bytes.Buffer) {
	said := &bytes.Buffer{}
	c := &rtmpClient{split: newRTMPSplit(), work: &Work{Publish: "host:1", App: "live", Stream: "s"}, publish: publish}
	c.send = func(p []byte) error {
		said.Write(p)
		return nil
	}
	return c, said
}

func TestAClientSpeaksOnlyWhenTheHandshakeIsWhole(t *testing.T) {
	for _, publish := range []bool{false, true} {
		c, said := clientSaying(publish)
		answer := append(hello(), make([]byte, handshakeLen)...)
		for i, b := range answer {
			if err := c.feed([]byte{b}, &heard{}); err != nil {
				t.Fatal(err)
			}
			if whole := i == len(answer)-1; (said.Len() > 0) != whole {
				t.Fatalf("after %d of %d bytes the client has said %d", i+1, len(answer), said.Len())
			}
		}
		if !bytes.Equal(said.Next(handshakeLen), answer[1:1+handshakeLen]) {
			t.Error("C2 is not S1")
		}
		// The server's side understands what follows.
		r, got := newRTMPSplit(), &heard{}
		if err := r.feed(said.Bytes(), got); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{false: 3, true: 6}[publish]; len(got.notes) != want {
			t.Errorf("%d messages, want %d", len(got.notes), want)
		}
	}
	c, _ := clientSaying(false)
	if err := c.feed(make([]byte, 1+2*handshakeLen), &heard{}); !errors.Is(err, ErrStream) {
		t.Errorf("RTMP version 0: %v", err)
	}
}

func TestAClientAnswersPingsAndAcknowledges(t *testing.T) {
	c, said := clientSaying(false)
	c.open = true
	ping := []byte{0, eventPing, 1, 2, 3, 4}
	if err := c.note(kindUser, ping); err != nil || !bytes.HasSuffix(said.Bytes(), []byte{0, eventPong, 1, 2, 3, 4}) {
		t.Errorf("a pong: %x, %v", said.Bytes(), err)
	}
	said.Reset()
	if err := c.note(kindWindow, []byte{0, 0, 0x10, 0}); err != nil {
		t.Fatal(err)
	}
	frame := appendMessage(nil, kindAudio, streamID, 0, make([]byte, 100), 128)
	for range 100 {
		if err := c.feed(frame, &heard{}); err != nil {
			t.Fatal(err)
		}
	}
	// One for each half of the window, at the next end of what was read.
	if each := len(appendControl(nil, kindAck, 0)); said.Len() != 5*each {
		t.Errorf("%d bytes of acknowledgements of %d each for %d bytes", said.Len(), each, 100*len(frame))
	}
}

func TestAClientKnowsWhenItIsSentAway(t *testing.T) {
	status := func(code string) []byte {
		var p []byte
		for _, v := range []any{"onStatus", 0, nil, []pair{{"level", "error"}, {"code", code}}} {
			p = appendAMF(p, v)
		}
		return p
	}
	for _, code := range refusals {
		c, _ := clientSaying(true)
		if err := c.note(kindCommand, status(code)); !errors.Is(err, errDismissed) || c.granted {
			t.Errorf("%s: %v", code, err)
		}
	}
	for code, granted := range map[string]bool{"NetStream.Publish.Start": true, "NetStream.Play.Reset": false} {
		c, _ := clientSaying(true)
		if err := c.note(kindCommand, status(code)); err != nil || c.granted != granted {
			t.Errorf("%s: %v, granted %v", code, err, c.granted)
		}
	}
	c, _ := clientSaying(false)
	for _, p := range [][]byte{nil, {2}, {2, 0, 9, 'x'}, appendAMF(nil, "_error"), appendAMF(nil, 7)} {
		if err := c.note(kindCommand, p); err != nil {
			t.Errorf("%x: %v", p, err)
		}
	}
	if err := c.note(kindCommand, append(appendAMF(nil, "_error"), "Connect.Rejected"...)); !errors.Is(err, ErrStream) {
		t.Errorf("a refused connection: %v", err)
	}
}
