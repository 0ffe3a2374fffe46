package rtspserver

import (
	"slices"
	"testing"

	"github.com/pion/rtcp"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/udpline"
)

// ofSource are the reports on one source.
func ofSource(p []byte, source uint32) (list []udpline.Report) {
	for on, r := range reports(p) {
		if on == source {
			list = append(list, r)
		}
	}
	return list
}

// Of all that comes together, the reports on one source are found.
func TestReportsOnASource(t *testing.T) {
	const source = 7
	block := func(ssrc, number uint32, lost uint8) rtcp.ReceptionReport {
		return rtcp.ReceptionReport{SSRC: ssrc, LastSequenceNumber: number, FractionLost: lost, TotalLost: 1<<24 - number%256, Jitter: number}
	}
	p, err := rtcp.Marshal([]rtcp.Packet{
		&rtcp.ReceiverReport{SSRC: 1, Reports: []rtcp.ReceptionReport{block(6, 1, 1), block(source, 1<<31+5, 255)}},
		&rtcp.SourceDescription{Chunks: []rtcp.SourceDescriptionChunk{{Source: 1, Items: []rtcp.SourceDescriptionItem{{Type: rtcp.SDESCNAME, Text: "a"}}}}},
		&rtcp.SenderReport{SSRC: 2, Reports: []rtcp.ReceptionReport{block(source, 9, 3)}, ProfileExtensions: []byte{1, 2, 3, 4}},
		&rtcp.ReceiverReport{SSRC: 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := ofSource(p, source)
	if want := []udpline.Report{{Highest: 1<<31 + 5, Lost: 255, Total: -5, Jitter: 1<<31 + 5}, {Highest: 9, Lost: 3, Total: -9, Jitter: 9}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// FuzzReports: what the library reads as a report on a source is found, whatever comes.
func FuzzReports(f *testing.F) {
	f.Add([]byte{129, 201, 0, 7, 0, 0, 0, 1, 0, 0, 0, 7, 5, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{159, 200, 0, 1, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, p []byte) {
		got := ofSource(p, 7)
		list, err := rtcp.Unmarshal(p)
		if err != nil {
			return
		}
		var want []udpline.Report
		for _, one := range list {
			var blocks []rtcp.ReceptionReport
			switch r := one.(type) {
			case *rtcp.ReceiverReport:
				blocks = r.Reports
			case *rtcp.SenderReport:
				blocks = r.Reports
			}
			for _, b := range blocks {
				if b.SSRC == 7 {
					want = append(want, udpline.Report{Highest: b.LastSequenceNumber, Lost: b.FractionLost, Total: udpline.Total(b.TotalLost), Jitter: b.Jitter})
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%x: %v, want %v", p, got, want)
		}
	})
}

// Numbers follow each other, whatever was left out, and packets are only copied where theirs
// differ.
func TestNumbersWithoutGaps(t *testing.T) {
	var n numbers
	packet := func(number uint16) []byte {
		return []byte{0x80, 96, byte(number >> 8), byte(number), 0, 0, 0, 0, 0, 0, 0, 0, 9}
	}
	due := uint16(65530)
	for i, number := range []uint16{65530, 65531, 65532, 3, 4, 10, 65530, 65531} {
		p := packet(number)
		out := n.renumber(p)
		if got := uint16(out[2])<<8 | uint16(out[3]); got != due || out[12] != 9 || (&out[0] == &p[0]) != (i < 3) {
			t.Errorf("packet %d, as it was made: %d, want %d", number, got, due)
		}
		if p[2] != byte(number>>8) || p[3] != byte(number) {
			t.Errorf("packet %d was changed", number)
		}
		due++
	}
}
