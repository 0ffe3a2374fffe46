package tsmedia

import (
	"bytes"
	"slices"

	"github.com/asticode/go-astits"
)

// later skips tables that are announced, and do not hold yet (ISO/IEC 13818-1, section 2.4.4.5,
// current_next_indicator). It is a parser of the library's, which takes them for those that hold, and it gets
// all packets of a unit before that reads them: here they are as they came.
func later(packets []*astits.Packet) (_ []*astits.DemuxerData, skip bool, _ error) {
	const (
		programs, tracks = 0, 2 // tables
		holds            = 5    // its byte in them
	)
	show(packets)
	p := packets[0].Payload
	if !packets[0].Header.PayloadUnitStartIndicator || len(p) == 0 || bytes.HasPrefix(p, []byte{0, 0, 1}) {
		return nil, false, nil
	}
	table := p[min(1+int(p[0]), len(p)):]
	if len(table) <= holds || table[0] != programs && table[0] != tracks {
		return nil, false, nil
	}
	return nil, table[holds]&1 == 0, nil
}

// programs takes note of which programs there are. When the one that is read has ended another one's table
// counts.
func (d *demuxer) programs(t *astits.PATData) {
	before := d.others
	d.others = map[uint16]bool{}
	for _, p := range t.Programs {
		if p.ProgramNumber != 0 { // the network's table
			d.others[p.ProgramNumber] = before[p.ProgramNumber]
			d.guard.tables[p.ProgramMapID] = true
		}
	}
	if _, ok := d.others[d.program]; !ok {
		d.program = 0
	}
}

// table takes the tracks that a table names. Of several programs that is the first of which something is carried.
func (d *demuxer) table(t *astits.PMTData) error {
	if d.program != 0 && t.ProgramNumber != d.program {
		return nil
	}
	if d.program == 0 && !slices.ContainsFunc(t.ElementaryStreams, func(es *astits.PMTElementaryStream) bool { return kindOf(es).codec != 0 }) {
		d.others[t.ProgramNumber] = true
		for _, nothing := range d.others {
			if !nothing {
				for _, es := range t.ElementaryStreams {
					d.name(entry{es.ElementaryPID, kindOf(es)})
				}
				return nil
			}
		}
	}
	d.guard.probing = -1
	d.known, d.program, d.streams = true, t.ProgramNumber, t.ElementaryStreams
	return d.choose("")
}

// manyScrambled are more packets of a track than are damaged by chance.
const manyScrambled = 50

// scrambled names a track whose packets nothing here can read.
func (d *demuxer) scrambled(pid uint16) {
	if d.unread[pid]++; d.unread[pid] != manyScrambled {
		return
	}
	for _, es := range d.streams {
		if es.ElementaryPID == pid {
			k := kindOf(es)
			k.name = "scrambled " + k.text()
			d.name(entry{pid, k})
		}
	}
}
