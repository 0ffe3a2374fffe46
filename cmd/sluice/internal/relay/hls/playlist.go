package hls

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Versions of playlists: parts need 9 by custom, EXT-X-MAP 6 (rfc8216bis, section 8).
const (
	versionLow   = 9
	versionPlain = 7
)

// holdBack is how many parts a player stays behind the end (rfc8216bis, section 4.4.3.8).
const holdBack = 3

// seconds writes ms as seconds.
func seconds(ms int64) string { return fmt.Sprintf("%d.%03d", ms/1000, ms%1000) }

// playlist returns the media playlist, cut where a query belongs behind an address. All
// viewers are sent the same strings. The lock is held.
func (t *timeline) playlist() []string {
	if t.text == nil {
		t.text = t.render()
	}
	return t.text
}

// render returns the text of the playlist, cut where a query belongs.
func (t *timeline) render() (pieces []string) {
	var b strings.Builder
	address := func(before, name, after string) {
		b.WriteString(before)
		b.WriteString(name)
		pieces = append(pieces, b.String())
		b.Reset()
		b.WriteString(after)
	}
	b.WriteString("#EXTM3U\n")
	if t.low {
		fmt.Fprintf(&b, "#EXT-X-VERSION:%d\n#EXT-X-TARGETDURATION:%d\n", versionLow, t.target)
		fmt.Fprintf(&b, "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=%s\n", seconds(holdBack*t.longest))
		fmt.Fprintf(&b, "#EXT-X-PART-INF:PART-TARGET=%s\n", seconds(t.longest))
	} else {
		fmt.Fprintf(&b, "#EXT-X-VERSION:%d\n#EXT-X-TARGETDURATION:%d\n", versionPlain, t.target)
	}
	list := t.all[t.listed:]
	first := t.numbers
	if len(list) > 0 {
		first = list[0].number
	}
	fmt.Fprintf(&b, "#EXT-X-MEDIA-SEQUENCE:%d\n#EXT-X-DISCONTINUITY-SEQUENCE:%d\n", first, t.lost)
	behind := int64(0) // from the end of the list to that of the segment
	for _, s := range list {
		behind += s.duration
	}
	init := -1
	for _, s := range list {
		behind -= s.duration
		if !s.done && !t.low {
			break
		}
		if s.broken {
			b.WriteString("#EXT-X-DISCONTINUITY\n")
		}
		if s.init != init {
			init = s.init
			address(`#EXT-X-MAP:URI="`, t.initName(init), "\"\n")
		}
		if !s.done && len(s.parts) == 0 {
			break // the part that is hinted at comes after these
		}
		at := time.UnixMilli(s.date).UTC()
		fmt.Fprintf(&b, "#EXT-X-PROGRAM-DATE-TIME:%s\n", at.Format("2006-01-02T15:04:05.000Z"))
		// Parts further from the end are of no use (section 4.4.4.9).
		if t.low && behind < 3000*t.target {
			for _, p := range s.parts {
				after := "\"\n"
				if p.key {
					after = "\",INDEPENDENT=YES\n"
				}
				address(fmt.Sprintf("#EXT-X-PART:DURATION=%s,URI=\"", seconds(p.duration)), t.partName(p.id), after)
			}
		}
		if s.done {
			address(fmt.Sprintf("#EXTINF:%s,\n", seconds(s.duration)), t.segmentName(s.number), "\n")
		}
	}
	switch {
	case t.over:
		b.WriteString("#EXT-X-ENDLIST\n")
	case t.low:
		if t.broken {
			b.WriteString("#EXT-X-DISCONTINUITY\n")
		}
		address(`#EXT-X-PRELOAD-HINT:TYPE=PART,URI="`, t.partName(t.ids), "\"\n")
	}
	return append(pieces, b.String())
}

// Names of files. They begin with the timeline's own, and then have a letter and a number.
func (t *timeline) initName(n int) string { return t.name + "-i" + strconv.Itoa(n) + ".mp4" }
func (t *timeline) segmentName(n int64) string {
	return t.name + "-s" + strconv.FormatInt(n, 10) + ".mp4"
}
func (t *timeline) partName(n int64) string { return t.name + "-p" + strconv.FormatInt(n, 10) + ".mp4" }

// parseName reads the name of a file of this timeline. Each file has one name.
func (t *timeline) parseName(name string) (kind byte, number int64, ok bool) {
	rest, ok := strings.CutPrefix(name, t.name+"-")
	rest, mp4 := strings.CutSuffix(rest, ".mp4")
	if !ok || !mp4 || len(rest) < 2 {
		return 0, 0, false
	}
	number, err := strconv.ParseInt(rest[1:], 10, 62)
	if err != nil || number < 0 || strconv.FormatInt(number, 10) != rest[1:] {
		return 0, 0, false
	}
	return rest[0], number, strings.IndexByte("isp", rest[0]) >= 0
}

// A variant is one row of a multivariant playlist.
type variant struct {
	address string
	codecs  string
	picture
	most, average int64 // bits a second
}

// describe returns the row of a timeline with a complete segment. The lock is held.
func (t *timeline) describe() (v variant, ok bool) {
	if t.target == 0 || len(t.inits) == 0 {
		return v, false
	}
	in := t.inits[len(t.inits)-1]
	v = variant{codecs: in.codecs, picture: in.picture}
	bytes, ms := int64(0), int64(0)
	for _, s := range t.all {
		if s.duration > 0 && len(s.parts) > 0 {
			v.most = max(v.most, s.bytes*8000/max(s.duration, 500))
			bytes, ms = bytes+s.bytes, ms+s.duration
		}
	}
	v.average = bytes * 8000 / max(ms, 1)
	v.most = max(v.most, v.average, 1)
	return v, true
}

// multivariant returns the playlist of the variants.
func multivariant(list []variant) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#EXTM3U\n#EXT-X-VERSION:%d\n", versionPlain)
	for _, v := range list {
		fmt.Fprintf(&b, "#EXT-X-STREAM-INF:BANDWIDTH=%d,AVERAGE-BANDWIDTH=%d,CODECS=\"%s\"", v.most, max(v.average, 1), v.codecs)
		if v.width > 0 && v.height > 0 {
			fmt.Fprintf(&b, ",RESOLUTION=%dx%d", v.width, v.height)
		}
		if v.dynamic != "" {
			b.WriteString(",VIDEO-RANGE=" + v.dynamic)
		}
		b.WriteString("\n" + v.address + "\n")
	}
	return b.String()
}
