package relay

import "github.com/sluice-go/sluice/lab/internal/rawio"

// A floorPeer is a connection to a floor.
type floorPeer struct {
	*rawio.Conn
	viewing bool
	opening []byte
	open    bool // the handshake is over
	split   *rtmpSplit
}

// take takes what a connection has brought: a request by HTTP, or RTMP.
func (v *floorPeer) take(f *floor, p []byte) error {
	if v.viewing {
		return nil // acknowledgements
	}
	if !v.open {
		v.opening = append(v.opening, p...)
		if f.form == FLV && v.opening[0] == 'G' {
			return v.request(f)
		}
		if len(v.opening) < 1+handshakeLen {
			return nil
		}
		if v.split == nil {
			// S0, S1 and S2.
			v.split = newRTMPSplit()
			v.split.look = true
			v.Write(append(hello(), v.opening[1:1+handshakeLen]...))
		}
		if len(v.opening) < 1+2*handshakeLen {
			return nil
		}
		p, v.open = v.opening[1+2*handshakeLen:], true
		v.opening = nil
	}
	return v.split.feed(p, floorSink{f, v})
}

// request answers a GET once it is whole, whatever it asks for.
func (v *floorPeer) request(f *floor) error {
	n := len(v.opening)
	if n > mostHead {
		return ErrStream
	}
	if n < 4 || string(v.opening[n-4:]) != "\r\n\r\n" {
		return nil
	}
	v.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: video/x-flv\r\nConnection: close\r\n\r\n" + flvStart))
	v.admit(f)
	return nil
}

// admit makes a connection a viewer. Frames that wait for the end of a window go
// only to viewers that were there before.
func (v *floorPeer) admit(f *floor) {
	for _, h := range f.head {
		v.Write(h)
	}
	f.flush()
	v.viewing = true
	v.opening, v.split = nil, nil
	f.viewers = append(f.viewers, v)
}

// floorSink is what a floor hears from one connection.
type floorSink struct {
	*floor
	peer *floorPeer
}

func (s floorSink) noted(kind uint8, payload []byte) error {
	if kind != kindCommand {
		return s.floor.noted(kind, payload)
	}
	// The transaction is the number behind the name.
	answer := func(name string, values ...any) {
		s.peer.Write(appendCommand(nil, 0, outChunk, append([]any{name}, values...)...))
	}
	status := func(code string) {
		s.peer.Write(appendCommand(nil, streamID, outChunk, "onStatus", 0, nil, []pair{
			{"level", "status"}, {"code", code}, {"description", code},
		}))
	}
	switch commandName(payload) {
	case "connect":
		p := appendControl(nil, kindWindow, acknowledgeEvery)
		p = appendMessage(p, kindBandwidth, 0, 0, []byte{0, 0x26, 0x25, 0xA0, 2}, outChunk)
		s.peer.Write(appendControl(p, kindChunkSize, outChunk))
		answer("_result", 1, []pair{{"fmsVer", "FMS/3,0,1,123"}, {"capabilities", 31}}, []pair{
			{"level", "status"}, {"code", "NetConnection.Connect.Success"}, {"description", "Connection succeeded."}, {"objectEncoding", 0},
		})
	case "createStream":
		answer("_result", 4, nil, streamID)
	case "publish":
		status("NetStream.Publish.Start")
	case "play":
		s.peer.Write(appendEvent(nil, eventStreamBegin, streamID))
		status("NetStream.Play.Start")
		s.peer.admit(s.floor)
	}
	return nil
}
