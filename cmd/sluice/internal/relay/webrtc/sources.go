package webrtc

import (
	"time"

	"github.com/pion/rtcp"
	pion "github.com/pion/webrtc/v4"
)

const (
	// keyEvery is the longest time between two key frames: browsers make one only when
	// they are asked, and viewers begin with one.
	keyEvery = 2 * time.Second
	// keyPause is the least time between two requests.
	keyPause = 500 * time.Millisecond
)

func (s *sources) add(stream string, x *publishing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil {
		s.list = map[string]*publishing{}
	}
	s.list[stream] = x
}

func (s *sources) remove(stream string, x *publishing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list[stream] == x {
		delete(s.list, stream)
	}
}

// ask asks a stream's publisher for a key frame, and reports whether it can be asked.
func (s *sources) ask(stream string) bool {
	s.mu.Lock()
	x := s.list[stream]
	s.mu.Unlock()
	if x != nil {
		x.askKey(time.Now())
	}
	return x != nil
}

// askKey asks the publisher for a key frame, unless that was done just now.
func (x *publishing) askKey(now time.Time) {
	x.mu.Lock()
	ssrc := pion.SSRC(0)
	if x.chosen[0].Video {
		ssrc = x.heard[0]
	}
	due := ssrc != 0 && now.Sub(x.keyed) >= keyPause
	if due {
		x.keyed = now
	}
	x.mu.Unlock()
	if due {
		// A request that is lost is followed by others.
		_ = x.pc.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: uint32(ssrc)}})
	}
}
