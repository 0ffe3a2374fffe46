package flv_test

import "github.com/sluice-go/sluice/flv"

// The tables of headers on the wire: Parse, Append and the fuzz targets work
// from them.

var tagWires = []struct {
	name   string
	wire   string
	header flv.TagHeader
}{
	{"audio", "\x08\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00", flv.TagHeader{Type: flv.TagAudio, Size: 2}},
	{"video at 24 bits", "\x09\x12\x34\x56\xff\xff\xff\x00\x00\x00\x00", flv.TagHeader{Type: flv.TagVideo, Size: 0x123456, Time: 0xffffff}},
	{"video at 25 bits", "\x09\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00", flv.TagHeader{Type: flv.TagVideo, Time: 1 << 24}},
	{"the latest time", "\x09\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00", flv.TagHeader{Type: flv.TagVideo, Time: 1<<32 - 1}},
	{"the largest script", "\x12\xff\xff\xff\x00\x00\x01\x02\x00\x00\x00", flv.TagHeader{Type: flv.TagScript, Size: flv.MaxPayload, Time: 2<<24 | 1}},
	{"a stream", "\x08\x00\x00\x00\x00\x00\x00\x00\x01\x02\x03", flv.TagHeader{Type: flv.TagAudio, StreamID: 0x010203}},
	{"encrypted", "\x29\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00", flv.TagHeader{Type: flv.TagVideo, Size: 1, Filter: true}},
	{"an unknown type", "\x0f\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00", flv.TagHeader{Type: 15, Size: 1}},
}

var videoWires = []struct {
	name   string
	wire   string
	header flv.VideoHeader
	is     string // key, config, metadata
}{
	{"AVC configuration", "\x17\x00\x00\x00\x00", flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecAVC, Len: 5}, "config"},
	{"AVC key frame", "\x17\x01\x00\x00\x43", flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecAVC, Packet: flv.PacketCodedFrames, CompositionTime: 67, Len: 5}, "key"},
	{"AVC frame, shown early", "\x27\x01\xff\xff\xff", flv.VideoHeader{Frame: flv.FrameInter, Codec: flv.CodecAVC, Packet: flv.PacketCodedFrames, CompositionTime: -1, Len: 5}, ""},
	{"AVC frame, earliest", "\x37\x01\x80\x00\x00", flv.VideoHeader{Frame: flv.FrameDisposable, Codec: flv.CodecAVC, Packet: flv.PacketCodedFrames, CompositionTime: -1 << 23, Len: 5}, ""},
	{"AVC end", "\x17\x02\x00\x00\x00", flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecAVC, Packet: flv.PacketSequenceEnd, Len: 5}, ""},
	{"AVC packet of type 3", "\x17\x03\x00\x00\x00", flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecAVC, Packet: 3, Len: 5}, ""},
	{"AVC packet of type 5", "\x17\x05\x00\x00\x00", flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecAVC, Packet: 5, Len: 5}, ""},
	{"AVC packet of type 200", "\x17\xc8\x00\x00\x00", flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecAVC, Packet: 200, Len: 5}, ""},
	{"AVC generated key frame", "\x47\x01\x00\x00\x00", flv.VideoHeader{Frame: flv.FrameGenerated, Codec: flv.CodecAVC, Packet: flv.PacketCodedFrames, Len: 5}, ""},
	{"a command", "\x57\x01", flv.VideoHeader{Frame: flv.FrameCommand, Codec: flv.CodecAVC, Packet: flv.PacketCodedFrames, Command: 1, Len: 2}, ""},
	{"HEVC configuration, by number", "\x1c\x00\x00\x00\x00", flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecHEVC, Len: 5}, "config"},
	{"HEVC key frame, by number", "\x1c\x01\x00\x00\x10", flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecHEVC, Packet: flv.PacketCodedFrames, CompositionTime: 16, Len: 5}, "key"},
	{"AV1 key frame, by number", "\x1d\x01\x00\x00\x00", flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecAV1, Packet: flv.PacketCodedFrames, Len: 5}, "key"},
	{"Sorenson key frame", "\x12", flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecFLV1, Packet: flv.PacketCodedFrames, Len: 1}, "key"},
	{"VP6 frame", "\x24", flv.VideoHeader{Frame: flv.FrameInter, Codec: flv.CodecVP6, Packet: flv.PacketCodedFrames, Len: 1}, ""},
	{"nobody's number", "\x1f", flv.VideoHeader{Frame: flv.FrameKey, Codec: 15, Packet: flv.PacketCodedFrames, Len: 1}, "key"},
	{"number 0", "\x00", flv.VideoHeader{Codec: 0, Packet: flv.PacketCodedFrames, Len: 1}, ""},

	{"HEVC configuration", "\x90hvc1", flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecHEVC, Enhanced: true, Len: 5}, "config"},
	{"HEVC key frame", "\x91hvc1\x00\x00\x21", flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecHEVC, Packet: flv.PacketCodedFrames, CompositionTime: 33, Enhanced: true, Len: 8}, "key"},
	{"HEVC key frame X", "\x93hvc1", flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecHEVC, Packet: flv.PacketCodedFramesX, Enhanced: true, Len: 5}, "key"},
	{"HEVC frame X", "\xa3hvc1", flv.VideoHeader{Frame: flv.FrameInter, Codec: flv.CodecHEVC, Packet: flv.PacketCodedFramesX, Enhanced: true, Len: 5}, ""},
	{"HEVC end", "\x92hvc1", flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecHEVC, Packet: flv.PacketSequenceEnd, Enhanced: true, Len: 5}, ""},
	{"VVC frame", "\xa1vvc1\xff\xff\xfe", flv.VideoHeader{Frame: flv.FrameInter, Codec: flv.CodecVVC, Packet: flv.PacketCodedFrames, CompositionTime: -2, Enhanced: true, Len: 8}, ""},
	{"AV1 configuration", "\x90av01", flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecAV1, Enhanced: true, Len: 5}, "config"},
	{"AV1 key frame", "\x91av01", flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecAV1, Packet: flv.PacketCodedFrames, Enhanced: true, Len: 5}, "key"},
	{"AV1 configuration for MPEG-2 TS", "\x95av01", flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecAV1, Packet: flv.PacketMPEG2TSSequenceStart, Enhanced: true, Len: 5}, "config"},
	{"VP9 frame", "\xa1vp09", flv.VideoHeader{Frame: flv.FrameInter, Codec: flv.CodecVP9, Packet: flv.PacketCodedFrames, Enhanced: true, Len: 5}, ""},
	{"a fourcc to come", "\x91new1", flv.VideoHeader{Frame: flv.FrameKey, Codec: 'n'<<24 | 'e'<<16 | 'w'<<8 | '1', Packet: flv.PacketCodedFrames, Enhanced: true, Len: 5}, "key"},
	{"colours", "\x94hvc1", flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecHEVC, Packet: flv.PacketMetadata, Enhanced: true, Len: 5}, "metadata"},
	{"colours in a command frame", "\xd4hvc1", flv.VideoHeader{Frame: flv.FrameCommand, Codec: flv.CodecHEVC, Packet: flv.PacketMetadata, Enhanced: true, Len: 5}, "metadata"},
	{"an enhanced command", "\xd0\x00", flv.VideoHeader{Frame: flv.FrameCommand, Enhanced: true, Len: 2}, ""},
	{"a packet type to come", "\x9favc1", flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecAVC, Packet: 15, Enhanced: true, Len: 5}, ""},
	{"nanoseconds", "\x97\x02\x0f\x42\x3f\x01hvc1\x00\x00\x00",
		flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecHEVC, Packet: flv.PacketCodedFrames, Enhanced: true, Extension: flv.Extension{ModEx: []byte("\x02\x0f\x42\x3f\x01")}, Len: 13}, "key"},
	{"two modifiers", "\x97\x00\xaa\x17\x02\x00\x00\x05\x03hvc1",
		flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecHEVC, Packet: flv.PacketCodedFramesX, Enhanced: true, Extension: flv.Extension{ModEx: []byte("\x00\xaa\x17\x02\x00\x00\x05\x03")}, Len: 13}, "key"},
	{"one track", "\x96\x01avc1\x07\x00\x00\x05",
		flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecAVC, Packet: flv.PacketCodedFrames, CompositionTime: 5, Enhanced: true, Extension: flv.Extension{Tracks: flv.TrackOne, Track: 7}, Len: 10}, "key"},
	{"many tracks", "\x96\x10hvc1\x00\x00\x01\x02",
		flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecHEVC, Enhanced: true, Extension: flv.Extension{Tracks: flv.TrackMany, TrackSize: 0x102}, Len: 10}, "config"},
	{"many codecs, modified", "\xa7\x00\x01\x06\x23av01\x01\xff\xff\xff",
		flv.VideoHeader{Frame: flv.FrameInter, Codec: flv.CodecAV1, Packet: flv.PacketCodedFramesX, Enhanced: true, Extension: flv.Extension{ModEx: []byte("\x00\x01\x06"), Tracks: flv.TrackManyCodecs, Track: 1, TrackSize: flv.MaxPayload}, Len: 13}, ""},
}

var videoWrongs = []string{
	"\x96\x16hvc1\x00\x00\x00\x00", // tracks in tracks
	"\x96\x17hvc1\x00\x00\x00\x00", // modifiers in tracks
	"\x96\x30hvc1\x00\x00\x00\x00", // a kind of tracks that does not exist
	"\x97\x00\x00\x07\x00\x00\x07\x00\x00\x07\x00\x00\x07\x00\x00\x07\x00\x00\x07\x00\x00\x07\x00\x00\x07" +
		"\x00\x00\x07\x00\x00\x07\x00\x00\x07\x00\x00\x07\x00\x00\x07\x00\x00\x07\x00\x00\x07\x00\x00\x07\x00\x00\x01hvc1\x00\x00\x00",
}

var audioWires = []struct {
	name   string
	wire   string
	header flv.AudioHeader
	config bool
}{
	{"AAC configuration", "\xaf\x00", flv.AudioHeader{Codec: flv.CodecAAC, Rate: flv.SoundRate44k, Bits16: true, Stereo: true, Len: 2}, true},
	{"AAC", "\xaf\x01", flv.AudioHeader{Codec: flv.CodecAAC, Packet: flv.AudioCodedFrames, Rate: flv.SoundRate44k, Bits16: true, Stereo: true, Len: 2}, false},
	{"AAC of type 7", "\xa0\x07", flv.AudioHeader{Codec: flv.CodecAAC, Packet: 7, Len: 2}, false},
	{"MP3", "\x2b", flv.AudioHeader{Codec: flv.CodecMP3, Packet: flv.AudioCodedFrames, Rate: flv.SoundRate22k, Bits16: true, Stereo: true, Len: 1}, false},
	{"MP3 at 8 kHz", "\xe2", flv.AudioHeader{Codec: flv.CodecMP3At8k, Packet: flv.AudioCodedFrames, Bits16: true, Len: 1}, false},
	{"Speex", "\xb6", flv.AudioHeader{Codec: flv.CodecSpeex, Packet: flv.AudioCodedFrames, Rate: flv.SoundRate11k, Bits16: true, Len: 1}, false},
	{"PCM", "\x0d", flv.AudioHeader{Codec: flv.CodecPCM, Packet: flv.AudioCodedFrames, Rate: flv.SoundRate44k, Stereo: true, Len: 1}, false},
	{"nobody's number", "\xc0", flv.AudioHeader{Codec: 12, Packet: flv.AudioCodedFrames, Len: 1}, false},
	{"Opus configuration", "\x90Opus", flv.AudioHeader{Codec: flv.CodecOpus, Enhanced: true, Len: 5}, true},
	{"Opus", "\x91Opus", flv.AudioHeader{Codec: flv.CodecOpus, Packet: flv.AudioCodedFrames, Enhanced: true, Len: 5}, false},
	{"enhanced AAC configuration", "\x90mp4a", flv.AudioHeader{Codec: flv.CodecAAC, Enhanced: true, Len: 5}, true},
	{"enhanced MP3", "\x91.mp3", flv.AudioHeader{Codec: flv.CodecMP3, Packet: flv.AudioCodedFrames, Enhanced: true, Len: 5}, false},
	{"FLAC end", "\x92fLaC", flv.AudioHeader{Codec: flv.CodecFLAC, Packet: flv.AudioSequenceEnd, Enhanced: true, Len: 5}, false},
	{"loudspeakers of E-AC-3", "\x94ec-3", flv.AudioHeader{Codec: flv.CodecEAC3, Packet: flv.AudioMultichannelConfig, Enhanced: true, Len: 5}, false},
	{"AC-3 with nanoseconds", "\x97\x02\x00\x00\x09\x01ac-3", flv.AudioHeader{Codec: flv.CodecAC3, Packet: flv.AudioCodedFrames, Enhanced: true, Extension: flv.Extension{ModEx: []byte("\x02\x00\x00\x09\x01")}, Len: 10}, false},
	{"many tracks", "\x95\x11mp4a\x02\x00\x00\x10", flv.AudioHeader{Codec: flv.CodecAAC, Packet: flv.AudioCodedFrames, Enhanced: true, Extension: flv.Extension{Tracks: flv.TrackMany, Track: 2, TrackSize: 16}, Len: 10}, false},
	{"one track's configuration", "\x95\x00Opus\x01", flv.AudioHeader{Codec: flv.CodecOpus, Enhanced: true, Extension: flv.Extension{Tracks: flv.TrackOne, Track: 1}, Len: 7}, true},
}
