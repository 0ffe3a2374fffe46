package au

import (
	"math"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
)

// An Assume returns the configuration of a track that a stream's metadata names, or a sequence header, and of
// which no frame has come: header is that of the sequence header, nil without one. nil: it is not assumed. With last
// more is waited for, as where nothing is assumed.
type Assume func(codec flv.FourCC, header *Config) (c *Config, last bool)

// AssumeSound assumes sound that a sequence header describes, and that of codecs whose form in RTP is the
// same for each stream: a description in which it stands is right when it begins.
func AssumeSound(codec flv.FourCC, header *Config) (c *Config, last bool) {
	switch {
	case codec == flv.CodecOpus && header == nil:
		return NewOpusConfig(2), false
	case codec == flv.CodecALaw || codec == flv.CodecMuLaw:
		return NewPlainConfig(codec, g711Rate, 1), false
	case header != nil && header.Rate > 0:
		return header, false
	}
	return nil, false
}

// AssumeAll assumes pictures too, for descriptions that need not say more than their codec.
func AssumeAll(codec flv.FourCC, header *Config) (c *Config, last bool) {
	switch codec {
	case flv.CodecAVC, flv.CodecHEVC, flv.CodecAV1, flv.CodecVP9:
		if header == nil {
			return &Config{Codec: codec}, false
		}
		return header, false
	}
	return AssumeSound(codec, header)
}

// AssumeLast is AssumeAll for descriptions that are better with pictures' parameter sets: these are waited for.
func AssumeLast(codec flv.FourCC, header *Config) (c *Config, last bool) {
	c, _ = AssumeAll(codec, header)
	return c, header == nil && (codec == flv.CodecAVC || codec == flv.CodecHEVC)
}

// announced are the tracks that a stream's metadata or a sequence header names.
type announced struct {
	video, audio             bool
	videoConfig, audioConfig *Config // assumed
	last                     bool    // and only when nothing has come for the whole time
	all                      bool    // the metadata says which there are; else there may be others
}

func announcedBy(source *live.Stream, assume Assume) announced {
	var a announced
	var s Splitter
	var video, audio flv.FourCC
	source.Headers(func(typ flv.TagType, body []byte) {
		if typ != flv.TagScript {
			a.video, a.audio = a.video || typ == flv.TagVideo, a.audio || typ == flv.TagAudio
			_, _, _ = s.Split(typ, 0, body) //sluicevet:ignore a header has no unit, and its configuration is a copy
			return
		}
		properties := Said(body, "videocodecid", "audiocodecid")
		if id, ok := properties.Get("videocodecid"); ok {
			a.video, a.all, video = true, true, codecOf(id, videoIDs)
		}
		if id, ok := properties.Get("audiocodecid"); ok {
			a.audio, a.all, audio = true, true, codecOf(id, audioIDs)
		}
	})
	if assume == nil {
		return a
	}
	configOf := func(codec flv.FourCC, header *Config) *Config {
		switch {
		case a.all && header != nil && header.Codec != codec: // of a publisher before, perhaps
			return nil
		case header != nil:
			codec = header.Codec
		case codec == 0:
			return nil
		}
		c, last := assume(codec, header)
		a.last = a.last || last
		return c
	}
	a.videoConfig, a.audioConfig = s.Configs()
	a.videoConfig, a.audioConfig = configOf(video, a.videoConfig), configOf(audio, a.audioConfig)
	return a
}

// Numbers of codecs in metadata (FLV, sections E.4.3.1 and E.4.2.1).
var (
	videoIDs = map[float64]flv.FourCC{7: flv.CodecAVC}
	audioIDs = map[float64]flv.FourCC{2: flv.CodecMP3, 7: flv.CodecALaw, 8: flv.CodecMuLaw, 10: flv.CodecAAC}
)

// codecOf is the codec of an id in metadata: its number, or the fourcc (enhanced RTMP, version 2).
func codecOf(id any, numbers map[float64]flv.FourCC) flv.FourCC {
	n, _ := id.(float64)
	if c, ok := numbers[n]; ok {
		return c
	}
	if n >= 0 && n <= math.MaxUint32 {
		return flv.FourCC(n)
	}
	return 0 // nor is NaN a codec
}
