package tsmedia

import (
	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// metadata says what tracks there are, 0 for none.
type metadata struct {
	video, audio flv.FourCC
	config       *au.Config // of the pictures
}

// codecIDs are the numbers of codecs in metadata (FLV, sections E.4.2.1 and E.4.3.1);
// others have their fourcc there.
var codecIDs = map[flv.FourCC]float64{flv.CodecAVC: 7, flv.CodecAAC: 10, flv.CodecMP3: 2}

// frame returns it as onMetaData.
func (m *metadata) frame(at uint32) live.Frame {
	info := amf0.ECMAArray{}
	add := func(name string, value float64) { info = append(info, amf0.Property{Name: name, Value: value}) }
	id := func(c flv.FourCC) float64 {
		if n, ok := codecIDs[c]; ok {
			return n
		}
		return float64(c)
	}
	if m.config != nil {
		if v, err := flv.ParseVideoConfig(m.video, m.config.Record); err == nil && v.Width > 0 {
			add("width", float64(v.Width))
			add("height", float64(v.Height))
		}
	}
	if m.video != 0 {
		add("videocodecid", id(m.video))
	}
	if m.audio != 0 {
		add("audiocodecid", id(m.audio))
	}
	p, err := flv.AppendScript(nil, flv.OnMetaData, info)
	if err != nil {
		panic("tsmedia: metadata: " + err.Error()) // numbers only
	}
	return live.Frame{Type: flv.TagScript, Time: at, Payload: mem.Wrap(p, nil)}
}
