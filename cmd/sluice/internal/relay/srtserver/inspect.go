package srtserver

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	srt "github.com/datarhei/gosrt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/srtconn"
)

// minPacket is the least that a caller may ask for: bytes of a packet with all headers.
// The library takes any, and allocates by what is asked for.
const minPacket = 500

var errHandshake = errors.New("srtserver: a handshake that is not taken")

// inspect looks at what the library does not show of a request: it would allocate what
// the packet size says, also 4 GB, and keep packets for as long as the caller says.
func inspect(req srt.ConnRequest) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%w: the library's request has changed: %v", errHandshake, fault)
		}
	}()
	if v := req.Version(); v != 5 {
		return fmt.Errorf("%w: version %d of the protocol", errHandshake, v)
	}
	h := reflect.ValueOf(req).Elem().FieldByName("handshake").Elem()
	packet := h.FieldByName("MaxTransmissionUnitSize").Uint()
	if packet < minPacket || packet > srt.MAX_MSS_SIZE {
		return fmt.Errorf("%w: packets of %d bytes, %d to %d are", errHandshake, packet, minPacket, srt.MAX_MSS_SIZE)
	}
	extension := h.FieldByName("SRTHS").Elem()
	for _, name := range []string{"SendTSBPDDelay", "RecvTSBPDDelay"} {
		if d := time.Duration(extension.FieldByName(name).Uint()) * time.Millisecond; d > srtconn.MaxLatency {
			return fmt.Errorf("%w: a latency of %v, at most %v", errHandshake, d, srtconn.MaxLatency)
		}
	}
	return nil
}
