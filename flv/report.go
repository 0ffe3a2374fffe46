package flv

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/sluice-go/sluice/amf0"
)

// A Report is what Probe found in a file.
type Report struct {
	Bytes    int64        `json:"bytes"`       // read
	Duration int64        `json:"duration_ms"` // from the first packet to the end of the last
	Bitrate  int64        `json:"bitrate"`     // bits a second, headers included; 0 when the duration is
	Header   Header       `json:"header"`      // what the file says it has
	Video    *VideoReport `json:"video"`       // nil: there is none
	Audio    *AudioReport `json:"audio"`
	Script   ScriptReport `json:"script"`
	Tags     DecoderStats `json:"tags"`
	// Jumps are the first places where time goes back, or forward by more than
	// ProbeOptions.Gap; the tracks count all.
	Jumps []Jump `json:"jumps"`
	// Truncated is where the file ends inside something, nil when it ends
	// between tags.
	Truncated *Truncation `json:"truncated"`
	// Broken is the error that ended the report before the file did, empty when
	// there was none.
	Broken string `json:"broken,omitempty"`
}

// A TrackReport is what is known of video and of audio.
type TrackReport struct {
	Codec     FourCC `json:"codec"`    // the first, if it changes
	Enhanced  bool   `json:"enhanced"` // in enhanced RTMP's form
	Packets   int64  `json:"packets"`  // with coded pictures or sound
	Configs   int64  `json:"configs"`  // sequence headers
	Ends      int64  `json:"ends"`     // that say a sequence is over
	Others    int64  `json:"others"`   // metadata, commands, and the like
	Malformed int64  `json:"malformed"`
	Changes   int64  `json:"codec_changes"`
	Bytes     int64  `json:"bytes"`       // of payload
	Bitrate   int64  `json:"bitrate"`     // bits a second
	First     int64  `json:"first_ms"`    // time of the first packet
	Last      int64  `json:"last_ms"`     // that of the last, counted on where the 32 bits wrap
	Duration  int64  `json:"duration_ms"` // from the first to the last, and one packet more of mean length
	Gaps      int64  `json:"gaps"`        // steps forward by more than ProbeOptions.Gap
	Backward  int64  `json:"backward"`    // steps back
}

// A VideoReport is what is known of the pictures.
type VideoReport struct {
	TrackReport
	Width       int       `json:"width"` // pixels; 0: not said, as in what follows
	Height      int       `json:"height"`
	Profile     int       `json:"profile"`
	Level       int       `json:"level"`
	FrameRate   float64   `json:"frame_rate"` // frames a second, by count
	KeyFrames   int64     `json:"key_frames"`
	GOP         GOPReport `json:"gop"`
	ConfigError string    `json:"config_error,omitempty"` // why a sequence header could not be read
}

// A GOPReport is about groups of pictures, from a key frame to the next. What
// follows the last key frame is no whole group.
type GOPReport struct {
	Groups    int64   `json:"groups"`
	MinTime   int64   `json:"min_ms"`
	MeanTime  float64 `json:"mean_ms"`
	MaxTime   int64   `json:"max_ms"`
	MinFrames int64   `json:"min_frames"`
	MaxFrames int64   `json:"max_frames"`
}

// An AudioReport is what is known of the sound.
type AudioReport struct {
	TrackReport
	Rate        int    `json:"rate"` // samples a second
	Channels    int    `json:"channels"`
	ConfigError string `json:"config_error,omitempty"` // why a sequence header could not be read
}

// A ScriptReport is about script data.
type ScriptReport struct {
	Tags      int64    `json:"tags"`
	Malformed int64    `json:"malformed"`
	Names     []string `json:"names"`    // the first few different ones
	Metadata  Metadata `json:"metadata"` // the value of the first onMetaData
}

// A Jump is a step of time between packets of one track.
type Jump struct {
	Track  TagType `json:"track"`
	Offset int64   `json:"offset"` // of the later packet's tag, bytes from the beginning
	From   int64   `json:"from_ms"`
	To     int64   `json:"to_ms"`
}

// A Truncation is an end inside a tag.
type Truncation struct {
	Offset int64 `json:"offset"` // of the tag, bytes from the beginning
	Bytes  int64 `json:"bytes"`  // there are of it
}

// MarshalText returns String, which is what a type is in JSON.
func (t TagType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Metadata are named values of a stream, an object in JSON.
type Metadata []amf0.Property

// MarshalJSON writes an object whose names are in the order of the file. What
// JSON cannot say, undefined values and numbers that are none, is null.
func (m Metadata) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("null"), nil
	}
	return appendJSONObject(nil, m), nil
}

func appendJSON(p []byte, v amf0.Value) []byte {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return append(p, "null"...)
		}
		return appendMarshalled(p, v)
	case amf0.Date:
		return appendJSON(p, v.Milliseconds)
	case bool, string, amf0.XML, amf0.Reference:
		return appendMarshalled(p, v)
	case amf0.Object:
		return appendJSONObject(p, v)
	case amf0.ECMAArray:
		return appendJSONObject(p, v)
	case amf0.TypedObject:
		return appendJSONObject(p, v.Properties)
	case amf0.StrictArray:
		p = append(p, '[')
		for i, e := range v {
			if i > 0 {
				p = append(p, ',')
			}
			p = appendJSON(p, e)
		}
		return append(p, ']')
	}
	return append(p, "null"...)
}

func appendJSONObject(p []byte, properties []amf0.Property) []byte {
	p = append(p, '{')
	for i, e := range properties {
		if i > 0 {
			p = append(p, ',')
		}
		p = append(appendMarshalled(p, e.Name), ':')
		p = appendJSON(p, e.Value)
	}
	return append(p, '}')
}

// appendMarshalled appends a value of a kind that cannot fail.
func appendMarshalled(p []byte, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("flv: %T in JSON: %v", v, err))
	}
	return append(p, b...)
}
