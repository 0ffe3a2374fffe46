package tsmedia

import (
	"context"

	"github.com/asticode/go-astits"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/mpegts/substructs"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// packets makes packets of the tracks that the tables name. Tables that change have the next
// version number, and the counters of packets go on.
type packets struct {
	library *astits.Muxer
	out     []byte
	next    uint16 // the PID of the next track
	clock   uint16 // the PID whose packets have the stream's clock; 0: none yet
	until   int    // as many of its packets come before the next that has it
}

const (
	firstPID = 256
	// clockEvery is how many packets of a track there are for one with the clock.
	clockEvery = 3
	// clockBefore is by how much the clock is before the track's times, ticks.
	clockBefore = 9000

	videoStream, audioStream = 0xe0, 0xc0 // ISO/IEC 13818-1, table 2-22
)

func newPackets() *packets {
	w := &packets{next: firstPID}
	w.library = astits.NewMuxer(context.Background(), w)
	return w
}

// Write implements io.Writer for the library.
func (w *packets) Write(p []byte) (int, error) {
	w.out = append(w.out, p...)
	return len(p), nil
}

// add gives a track its place in the tables, which say what it is from the next packet of it on. It returns its
// PID.
func (w *packets) add(es *astits.PMTElementaryStream) (pid uint16, err error) {
	es.ElementaryPID = w.next
	if err := w.library.AddElementaryStream(*es); err != nil {
		return 0, err
	}
	w.next++
	if w.clock == 0 {
		return es.ElementaryPID, nil
	}
	_, err = w.library.WriteTables()
	return es.ElementaryPID, err
}

// A load is what packets are made of.
type load struct {
	pid      uint16
	stream   uint8 // its id
	pts, dts int64
	key      bool // a player can begin with it
	data     []byte
}

// write makes the packets of a unit. Before one that a player can begin with stand the tables.
func (w *packets) write(u load) error {
	if w.clock == 0 {
		w.clock = u.pid
		w.library.SetPCRPID(u.pid)
	}
	var field *astits.PacketAdaptationField
	if u.key && u.pid != w.clock {
		// The library writes them before a key frame that has the clock.
		if _, err := w.library.WriteTables(); err != nil {
			return err
		}
	}
	if u.key {
		field = &astits.PacketAdaptationField{RandomAccessIndicator: true}
	}
	if u.pid == w.clock {
		if w.until == 0 || u.key && u.stream == videoStream {
			if field == nil {
				field = &astits.PacketAdaptationField{}
			}
			field.HasPCR, field.PCR = true, &astits.ClockReference{Base: u.dts - clockBefore}
			w.until = clockEvery
		}
		w.until--
	}
	h := &astits.PESOptionalHeader{MarkerBits: 2, PTSDTSIndicator: astits.PTSDTSIndicatorOnlyPTS, PTS: &astits.ClockReference{Base: u.pts}}
	if u.dts != u.pts {
		h.PTSDTSIndicator, h.DTS = astits.PTSDTSIndicatorBothPresent, &astits.ClockReference{Base: u.dts}
	}
	_, err := w.library.WriteData(&astits.MuxerData{
		PID: u.pid, AdaptationField: field,
		PES: &astits.PESData{Header: &astits.PESHeader{OptionalHeader: h, StreamID: u.stream}, Data: u.data},
	})
	return err
}

// entryOf returns what the tables say of a track; nil when they cannot say it.
func entryOf(c *au.Config) *astits.PMTElementaryStream {
	switch c.Codec {
	case flv.CodecAVC:
		return &astits.PMTElementaryStream{StreamType: astits.StreamTypeH264Video}
	case flv.CodecHEVC:
		return &astits.PMTElementaryStream{StreamType: astits.StreamTypeH265Video}
	case flv.CodecAAC:
		if _, ok := adtsOf(c); ok {
			return &astits.PMTElementaryStream{StreamType: astits.StreamTypeAACAudio}
		}
	case flv.CodecOpus:
		if c.Channels <= 2 {
			return opusEntry(c.Channels)
		}
	case flv.CodecMP3:
		if c.Rate < 32000 {
			return &astits.PMTElementaryStream{StreamType: astits.StreamTypeMPEG2Audio}
		}
		return &astits.PMTElementaryStream{StreamType: astits.StreamTypeMPEG1Audio}
	case flv.CodecAC3:
		return ac3Entry(c.Channels)
	}
	return nil
}

// opusEntry is that of Opus (ETSI TS Opus 0.1.3, section 4).
func opusEntry(channels int) *astits.PMTElementaryStream {
	text, _ := substructs.OpusAudioDescriptor{ChannelConfigCode: uint8(channels)}.Marshal() // of one byte
	return &astits.PMTElementaryStream{StreamType: astits.StreamTypePrivateData, ElementaryStreamDescriptors: []*astits.Descriptor{
		// The library writes what has a length; which one does not matter.
		{Length: 1, Tag: astits.DescriptorTagRegistration, Registration: &astits.DescriptorRegistration{FormatIdentifier: opusFormat}},
		{Length: 1, Tag: astits.DescriptorTagExtension, Extension: &astits.DescriptorExtension{Tag: opusAudio, Unknown: &text}},
	}}
}

// ac3Entry is that of AC-3 (ETSI EN 300 468, annex D.3).
func ac3Entry(channels int) *astits.PMTElementaryStream {
	const complete = 1 << 6 // a full service, of the main sound
	number := uint8(2)      // two channels
	switch {
	case channels == 1:
		number = 0
	case channels > 2:
		number = 4 // more
	}
	return &astits.PMTElementaryStream{StreamType: astits.StreamTypeAC3Audio, ElementaryStreamDescriptors: []*astits.Descriptor{
		{Length: 1, Tag: astits.DescriptorTagAC3, AC3: &astits.DescriptorAC3{HasComponentType: true, ComponentType: complete | number}},
	}}
}
