package tsmedia

import (
	"bytes"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg4audio"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
)

// loas finds the frames of a track of AAC in LATM (ISO/IEC 14496-3, section 1.7), as television has it. The zero
// value is ready for use.
type loas struct {
	cutter
	mux    *mpeg4audio.StreamMuxConfig // the latest; nil: none yet
	config *au.Config                  // that it says
	broken int                         // elements that could not be read, since the last other one
}

const (
	// loasHeader is how many bytes are before an element: 11 bits of 0x2b7, 13 of its length.
	loasHeader = 3
	// maxBroken is how many elements that cannot be read, and no other, are no chance.
	maxBroken = 10
)

// frames calls yield with the frames that end in p, and whether their element began before it. The error is
// yield's or a leftOut.
func (l *loas) frames(p []byte, yield func(c *au.Config, frame []byte, before bool) error) error {
	return l.cut(p, loasSize, func(element []byte, before bool) error {
		e := mpeg4audio.AudioMuxElement{MuxConfigPresent: true, StreamMuxConfig: l.mux}
		if e.Unmarshal(element[loasHeader:]) != nil {
			if l.mux == nil && element[loasHeader]&0x80 != 0 {
				return nil // it has the configuration of one before
			}
			if l.broken++; l.broken < maxBroken {
				return nil
			}
			return leftOut("AAC in LATM that cannot be read")
		}
		l.broken = 0
		if e.StreamMuxConfig != l.mux {
			if err := l.configure(e.StreamMuxConfig); err != nil {
				return err
			}
		}
		for _, frame := range e.Payloads {
			if len(frame) == 1 && len(frame[0]) == 1 && len(frame[0][0]) > 0 {
				if err := yield(l.config, frame[0][0], before); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// configure takes a configuration, which elements have again and again.
func (l *loas) configure(mux *mpeg4audio.StreamMuxConfig) error {
	if len(mux.Programs) != 1 || len(mux.Programs[0].Layers) != 1 || mux.Programs[0].Layers[0].AudioSpecificConfig == nil {
		return leftOut("AAC in LATM with several programs or layers")
	}
	record, err := mux.Programs[0].Layers[0].AudioSpecificConfig.Marshal()
	if err != nil {
		return leftOut("AAC in LATM with a configuration that has no form elsewhere")
	}
	l.mux = mux
	if l.config != nil && bytes.Equal(l.config.Record, record) {
		return nil
	}
	if l.config, err = au.NewAACConfig(record); err != nil {
		return leftOut("AAC in LATM: " + err.Error())
	}
	return nil
}

// loasSize is syncedSize of LATM.
func loasSize(p []byte) int {
	begins := func(p []byte) bool { return p[0] == 0x56 && (len(p) < 2 || p[1]&0xe0 == 0xe0) }
	if !begins(p) {
		return 0
	}
	if len(p) < loasHeader {
		return loasHeader
	}
	n := loasHeader + (int(p[1]&0x1f)<<8 | int(p[2]))
	if n == loasHeader || len(p) > n && !begins(p[n:]) {
		return 0
	}
	return n
}
