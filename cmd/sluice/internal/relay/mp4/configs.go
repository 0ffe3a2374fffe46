package mp4

import (
	"encoding/binary"
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// A TrackConfig is what a file says of one of its tracks.
type TrackConfig struct {
	ID     uint32
	Scale  uint32 // ticks a second
	Video  bool
	Config *au.Config // with the codec; VP9's has no record, each key frame says it
}

// Configs reads the tracks of the header of a file of this package, borrowed until it
// returns. Tracks of codecs that it does not know are left out. An error matches
// ErrSyntax.
func Configs(header []byte) ([]TrackConfig, error) {
	var list []TrackConfig
	for trak := range boxes(inside(header, "moov"), "trak") {
		t, err := trackOf(trak)
		if err != nil {
			return nil, err
		}
		if t.Config, err = configOf(trak); err != nil {
			return nil, fmt.Errorf("%w: track %d: %w", ErrSyntax, t.ID, err)
		}
		if t.Config != nil {
			list = append(list, t)
		}
	}
	return list, nil
}

// trackOf reads what the contents of a trak say, but for the configuration. Versions are 0, as the
// library writes them (sections 8.3.2, 8.4.2 and 8.4.3).
func trackOf(trak []byte) (t TrackConfig, err error) {
	mdia := inside(trak, "mdia")
	tkhd, mdhd, hdlr := inside(trak, "tkhd"), inside(mdia, "mdhd"), inside(mdia, "hdlr")
	if len(tkhd) < 16 || len(mdhd) < 16 || len(hdlr) < 12 || tkhd[0] != 0 || mdhd[0] != 0 {
		return t, fmt.Errorf("%w: a track of the header", ErrSyntax)
	}
	t.ID, t.Scale, t.Video = binary.BigEndian.Uint32(tkhd[12:]), binary.BigEndian.Uint32(mdhd[12:]), string(hdlr[8:12]) == "vide"
	if t.ID == 0 || t.Scale == 0 {
		return t, fmt.Errorf("%w: a track of the header has the id %d and %d ticks a second", ErrSyntax, t.ID, t.Scale)
	}
	return t, nil
}

// Bytes of a sample entry before the boxes in it (sections 12.1.3 and 12.2.3), and of stsd before
// the entry (section 8.5.2).
const (
	pictureEntry = 78
	soundEntry   = 28
	stsdHead     = 8
)

// configOf reads the sample entry of a trak. It is nil for a codec that this package does not write.
func configOf(trak []byte) (*au.Config, error) {
	stsd := inside(inside(inside(inside(trak, "mdia"), "minf"), "stbl"), "stsd")
	entry := stsd[min(stsdHead, len(stsd)):]
	kind, size, ok := box(entry)
	if !ok || size > len(entry) {
		return nil, fmt.Errorf("a sample entry of %d bytes", len(entry))
	}
	entry = entry[boxHead:size]
	record := func(before int, kind string) []byte { return inside(entry[min(before, len(entry)):], kind) }
	switch kind {
	case "avc1":
		return setsOf(flv.CodecAVC, record(pictureEntry, "avcC"))
	case "hvc1":
		return setsOf(flv.CodecHEVC, record(pictureEntry, "hvcC"))
	case "av01":
		return au.ParseConfig(flv.CodecAV1, record(pictureEntry, "av1C"))
	case "vp09":
		return &au.Config{Codec: flv.CodecVP9}, nil
	case "mp4a", "Opus", "ac-3", "fLaC":
		if len(entry) < soundEntry {
			return nil, fmt.Errorf("a sample entry of %d bytes", len(entry))
		}
		channels, rate := int(binary.BigEndian.Uint16(entry[16:])), int(binary.BigEndian.Uint16(entry[24:]))
		switch kind {
		case "Opus":
			return au.NewOpusConfig(channels), nil
		case "ac-3":
			return au.NewPlainConfig(flv.CodecAC3, rate, channels), nil
		case "fLaC":
			blocks := record(soundEntry, "dfLa")
			return au.ParseConfig(flv.CodecFLAC, append([]byte("fLaC"), blocks[min(4, len(blocks)):]...))
		}
		object, specific, ok := parseDescriptor(record(soundEntry, "esds"))
		switch {
		case ok && object == objectAAC:
			return au.NewAACConfig(specific)
		case ok && object == objectMP3:
			return au.NewPlainConfig(flv.CodecMP3, rate, channels), nil
		}
		return nil, fmt.Errorf("a descriptor of sound of type %#x", object)
	}
	return nil, nil
}

// setsOf makes a configuration of the parameter sets in a record: what stands before those of HEVC may be
// wrong in older files.
func setsOf(codec flv.FourCC, record []byte) (*au.Config, error) {
	c, err := au.ParseConfig(codec, record)
	if err != nil {
		return nil, err
	}
	return au.NewVideoConfig(codec, c.Sets)
}
