//go:build linux

package realtest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The ways to publish and to play.
var (
	publishWays = []string{"RTMP", "HTTP-FLV", "RTSP/TCP", "RTSP/UDP", "WHIP", "SRT"}
	playWays    = []string{"RTMP", "HTTP-FLV", "WS-FLV", "RTSP/TCP", "RTSP/UDP", "WHEP", "HLS", "LL-HLS", "SRT"}
)

// columns are the codecs of the table, by ffmpeg's names, with B for B-frames.
var columns = []struct{ codec, title string }{
	{"h264", "H.264"}, {"h264 B", "H.264 B"}, {"hevc", "HEVC"}, {"hevc B", "HEVC B"}, {"av1", "AV1"}, {"vp9", "VP9"}, {"aac", "AAC"}, {"opus", "Opus"},
	{"mp3", "MP3"}, {"flac", "FLAC"}, {"ac3", "AC-3"}, {"pcm_alaw", "A-law"}, {"pcm_mulaw", "mu-law"},
}

// carried reports whether a protocol has a form for a codec, here.
func carried(way, codec string) bool {
	switch way {
	case "RTMP", "HTTP-FLV", "WS-FLV":
		return true
	case "RTSP/TCP", "RTSP/UDP":
		return rtpNames[codec] != ""
	case "WHIP", "WHEP":
		return rtcNames[codec] != ""
	case "HLS", "LL-HLS":
		return slices.Contains([]string{"h264", "hevc", "av1", "aac", "opus", "flac"}, codec)
	case "SRT":
		return slices.Contains([]string{"h264", "hevc", "aac", "opus", "mp3", "ac3"}, codec)
	}
	panic(way)
}

// Marks of the table.
const (
	markSame  = '+' // the same bytes at the same times
	markFewer = 'b' // the same bytes, without B-frames to which no other picture refers
	markIn    = '-' // the publisher's protocol has no form for it
	markOut   = '.' // the player's has none
	markWrong = '!'
)

// A matrix is the table: marks by publisher, player and codec.
type matrix struct {
	dir   string // of the sources
	mu    sync.Mutex
	marks map[[3]string]rune

	encoding sync.Mutex
	made     map[int]*mediaSource
}

// source returns a source, which is encoded once.
func (m *matrix) source(t testing.TB, number int) *mediaSource {
	m.encoding.Lock()
	defer m.encoding.Unlock()
	if m.made[number] == nil {
		m.made[number] = makeSource(t, m.dir, number)
	}
	return m.made[number]
}

// set sets a mark, unless it is known to be wrong.
func (m *matrix) set(at [3]string, mark rune) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.marks[at] != markWrong {
		m.marks[at] = mark
	}
}

// table is the matrix as it is in docs.
func (m *matrix) table() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	b.WriteString("|From|to|")
	for _, c := range columns {
		b.WriteString(c.title + "|")
	}
	b.WriteString("\n|" + strings.Repeat("-|", 2+len(columns)) + "\n")
	for _, publisher := range publishWays {
		for _, player := range playWays {
			b.WriteString("|" + publisher + "|" + player + "|")
			for _, c := range columns {
				mark, ok := m.marks[[3]string{publisher, player, c.codec}]
				if !ok {
					mark = '?'
				}
				b.WriteString(string(mark) + "|")
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// protocolsPage is where the table is.
const protocolsPage = "../../../../../docs/results/protocols.md"

// documented reads the table of the page.
func documented(t testing.TB) (page, table string, marks map[[3]string]rune) {
	t.Helper()
	text, err := os.ReadFile(protocolsPage)
	if err != nil {
		t.Fatal(err)
	}
	page = string(text)
	marks = map[[3]string]rune{}
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		table += line
		f := strings.Split(strings.Trim(line, "|\n"), "|")
		if len(f) != 2+len(columns) {
			t.Fatalf("%s: a row of %d columns: %s", protocolsPage, len(f), line)
		}
		for i, c := range columns {
			marks[[3]string{f[0], f[1], c.codec}] = []rune(f[2+i])[0]
		}
	}
	return page, table, marks
}

// runTool runs a program to its end.
func runTool(name string, args ...string) ([]byte, error) {
	var stderr bytes.Buffer
	c := exec.Command(name, args...)
	c.Stderr = &stderr
	text, err := c.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", name, err, stderr.String())
	}
	return text, err
}

// only returns a source with the tracks that a protocol carries, or nil.
func (s *mediaSource) only(way string) *mediaSource {
	c := *s
	if c.video != nil && !carried(way, c.video.codec) {
		c.video = nil
	}
	if c.audio != nil && !carried(way, c.audio.codec) {
		c.audio = nil
	}
	if c.video == nil && c.audio == nil {
		return nil
	}
	return &c
}

// A playing is a player at work.
type playing struct {
	way          string
	done         chan struct{}
	video, audio []played
	err          error
}

// soon waits for something that a try needs and that may fail: then the try does. f returns how much of it
// there is, too: when that stands still the rest was lost, and does not come later.
func soon(f func() (have int, enough bool)) {
	still := time.NewTimer(10 * time.Second)
	defer still.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for had := 0; ; {
		have, enough := f()
		if enough {
			return
		}
		if have != had {
			had = have
			still.Reset(10 * time.Second)
		}
		select {
		case <-tick.C:
		case <-still.C:
			return
		}
	}
}

// unread is how many units a client of WebRTC may throw away when a session ends.
const unread = 5

// play begins to play. For those that are late it returns when they have something.
func (s *server) play(t testing.TB, way, stream string, src *mediaSource, late bool) *playing {
	x := &playing{way: way, done: make(chan struct{})}
	if late {
		var count func() int
		var end func() (video, audio []played, err error)
		if way == "WHEP" {
			count, end, x.err = playWHEP(t, "http://"+s.HTTP+"/"+stream+"/whep", src)
		} else {
			count, end, x.err = playSRT(t, s.SRT, stream)
		}
		if x.err != nil {
			close(x.done)
			return x
		}
		go func() {
			defer close(x.done)
			x.video, x.audio, x.err = end()
		}()
		soon(func() (int, bool) {
			select {
			case <-x.done:
				return 0, true // with an error
			default:
				return 0, count() > 0
			}
		})
		return x
	}
	app, name, _ := strings.Cut(stream, "/")
	var run func() error
	switch way {
	case "RTMP", "HTTP-FLV", "WS-FLV":
		var conn net.Conn
		if way == "RTMP" {
			conn = dial(t, s.RTMP, false)
		} else {
			conn = dial(t, s.HTTP, false)
		}
		run = func() error {
			var in tagSource
			var err error
			switch way {
			case "RTMP":
				in, err = playRTMP(conn, app, name)
			case "HTTP-FLV":
				in, err = playHTTP(conn, "/"+stream+".flv")
			default:
				in, err = playWebSocket(conn, "/"+stream+".flv")
			}
			var got flvPlayed
			for err == nil {
				var g tag
				if g, err = in.next(); err == nil {
					err = got.add(g, src)
				}
			}
			x.video, x.audio = got.video, got.audio
			if err.Error() != "EOF" {
				return err
			}
			return nil
		}
	case "RTSP/TCP", "RTSP/UDP":
		session := openRTSP(t, s.RTSP, "rtsp://"+s.RTSP+"/"+stream)
		run = func() (err error) {
			x.video, x.audio, err = playRTSP(t, session, way == "RTSP/UDP", src)
			return err
		}
	default:
		run = func() (err error) {
			x.video, x.audio, err = playHLS(t, "http://"+s.HTTP+"/"+stream+".m3u8", way == "LL-HLS")
			return err
		}
	}
	go func() {
		defer close(x.done)
		x.err = run()
	}()
	return x
}

const (
	// begin is how much is published before the players come that begin with the stream.
	begin = 300 * time.Millisecond
	// half is how much is published before those come that are in the middle.
	half = 1500 * time.Millisecond
)

// publishAll publishes a source, in real time, with two breaks in which it calls first and
// between.
func (s *server) publishAll(t testing.TB, way, stream string, src *mediaSource, first, between func()) error {
	app, name, _ := strings.Cut(stream, "/")
	began := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	pace := func(at time.Duration) {
		if first != nil && at >= begin {
			first()
			first = nil
			began = time.Now().Add(-at)
		}
		if between != nil && at >= half {
			between()
			between = nil
			began = time.Now().Add(-at)
		}
		timer.Reset(time.Until(began.Add(at)))
		<-timer.C
	}
	// arrived waits until the relay has all, or as good as all: the last ones may be
	// known only at the end.
	arrived := func() {
		want := len(src.flvTags())
		if way != "RTMP" && way != "HTTP-FLV" {
			want++ // metadata
		}
		soon(func() (int, bool) {
			info := s.stream(t, stream)
			if info == nil {
				return 0, true
			}
			return info.FramesIn, info.FramesIn >= want
		})
	}
	var to interface {
		send(video bool, u *mediaUnit) error
		end() error
	}
	var err error
	switch way {
	case "RTMP", "HTTP-FLV":
		var out sender
		var post *post
		if way == "RTMP" {
			var c *rtmpClient
			if c, err = publishRTMP(dial(t, s.RTMP, false), app, name); err != nil {
				return err
			}
			out = c
			defer c.conn.Close()
		} else {
			post = publishHTTP(t, "POST", "http://"+s.HTTP+"/"+stream+".flv")
			out = post
		}
		for _, g := range src.flvTags() {
			if g.media() {
				pace(time.Duration(g.Time)*time.Millisecond - sourceLead)
			}
			if err := out.send(g); err != nil {
				return err
			}
		}
		arrived()
		if post != nil {
			return post.end(t)
		}
		return nil
	case "RTSP/TCP", "RTSP/UDP":
		to, err = publishRTSP(t, openRTSP(t, s.RTSP, "rtsp://"+s.RTSP+"/"+stream), way == "RTSP/UDP", src)
	case "WHIP":
		to, err = publishWHIP(t, "http://"+s.HTTP+"/"+stream+"/whip", src)
		// What is sent before the server has the connection too is lost.
		soon(func() (int, bool) {
			return 0, slices.ContainsFunc(s.clients(t), func(c clientInfo) bool { return c.Stream == stream && c.Role == "publisher" })
		})
		if p, ok := to.(*whipPublisher); ok && err == nil {
			err = p.reports(0)
		}
	default:
		data, err := src.transportStream(t)
		if err != nil {
			return err
		}
		conn, err := openSRT(t, s.SRT, "#!::r="+stream+",m=publish")
		if err != nil {
			return err
		}
		p := &srtPublisher{conn, data}
		whole := len(data)
		if err := p.send(0.15, whole, begin); err != nil {
			return err
		}
		first()
		if err := p.send(0.4, whole, half-begin); err != nil {
			return err
		}
		between()
		if err := p.send(1, whole, sourceSeconds*time.Second-half); err != nil {
			return err
		}
		// The library throws away what the other side has not shown yet. The last units
		// are complete at the end only, so this is over when nothing has come for a while.
		all, had, since := len(src.flvTags()), 0, time.Now()
		soon(func() (int, bool) {
			n := 0
			if info := s.stream(t, stream); info != nil {
				n = info.FramesIn
			}
			if n != had {
				had, since = n, time.Now()
			}
			return n, n >= all-6 && time.Since(since) >= time.Second
		})
		return conn.Close()
	}
	if err != nil {
		return err
	}
	src.inOrder(func(video bool, u *mediaUnit) {
		if err == nil {
			pace(u.decoded)
			err = to.send(video, u)
		}
	})
	if err != nil {
		return err
	}
	arrived()
	return to.end()
}

// sameUnits compares what was played with the source: nothing is missing behind the first
// unit, of which at most skip may be, and times differ by from, within a millisecond. The
// times of units before live do not count. It returns what is wrong.
func sameUnits(got, want []played, from time.Duration, skip, live int) string {
	if len(got) == 0 {
		return "nothing"
	}
	at := slices.IndexFunc(want, func(p played) bool { return p.sum == got[0].sum })
	if at < 0 {
		return "the first unit is none of the source's"
	}
	if at > skip {
		return fmt.Sprintf("%d units are missing at the beginning", at)
	}
	for i, g := range got {
		if at+i >= len(want) {
			return fmt.Sprintf("%d units more than there are", len(got)-i)
		}
		w := want[at+i]
		if g.sum != w.sum {
			return fmt.Sprintf("unit %d of %d, at %v, is another than at %v of the source", i, len(got), g.shown-from, w.shown)
		}
		if d := g.shown - from - w.shown; i >= live && d.Abs() > time.Millisecond+time.Microsecond {
			return fmt.Sprintf("unit %d is at %v, in the source at %v", i, g.shown-from, w.shown)
		}
	}
	if n := len(want) - at - len(got); n > 0 {
		return fmt.Sprintf("%d units are missing at the end", n)
	}
	return ""
}

// runProtocol publishes a source in one way and plays it in all that can.
//
// A busy machine may stand still for longer than datagrams are kept: what fails is tried
// twice more, and only what fails each time is wrong.
func (m *matrix) runProtocol(t *testing.T, s *server, number int, publisher string) {
	const tries = 3
	for try := range tries {
		wrong, marks := m.tryProtocol(t, s, number, publisher, try)
		if wrong != nil && try+1 < tries {
			fmt.Fprintln(os.Stderr, t.Name(), "again:", strings.Join(wrong, "\n"))
			continue
		}
		for _, text := range wrong {
			t.Error(text)
		}
		for at, mark := range marks {
			m.set(at, mark)
		}
		return
	}
}

func (m *matrix) tryProtocol(t *testing.T, s *server, number int, publisher string, try int) (wrong []string, marks map[[3]string]rune) {
	marks = map[[3]string]rune{}
	set := func(publisher, player, codec string, mark rune) { marks[[3]string{publisher, player, codec}] = mark }
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	src := m.source(t, number)
	names := map[bool]string{true: src.video.codec, false: src.audio.codec}
	if strings.Contains(src.name, "B-frames") {
		names[true] += " B"
	}
	sent := src.only(publisher)
	for _, video := range []bool{true, false} {
		if sent == nil || video && sent.video == nil || !video && sent.audio == nil {
			for _, player := range playWays {
				set(publisher, player, names[video], markIn)
			}
		}
	}
	if sent == nil {
		return nil, marks
	}
	stream := fmt.Sprintf("live/%d-%d-%s", number, try, strings.ToLower(strings.ReplaceAll(publisher, "/", "-")))
	var players []*playing
	late := []string{"WHEP", "SRT"}
	err := s.publishAll(t, publisher, stream, sent, func() {
		// A player that comes before a track is known does without it.
		soon(func() (int, bool) {
			info := s.stream(t, stream)
			return 0, info != nil && (sent.video == nil || info.Video.Codec != "") && (sent.audio == nil || info.Audio.Codec != "")
		})
		for _, way := range playWays {
			if !slices.Contains(late, way) && sent.only(way) != nil {
				players = append(players, s.play(t, way, stream, sent.only(way), false))
			}
		}
		soon(func() (int, bool) {
			info := s.stream(t, stream)
			if info == nil {
				return 0, false
			}
			return info.Viewers, info.Viewers == len(players)
		})
	}, func() {
		for _, way := range late {
			if sent.only(way) != nil {
				players = append(players, s.play(t, way, stream, sent.only(way), true))
			}
		}
	})
	if err != nil {
		complain("publishing: %v", err)
	}
	for _, way := range playWays {
		for _, video := range []bool{true, false} {
			track := sent.audio
			if video {
				track = sent.video
			}
			if track != nil && !carried(way, track.codec) {
				set(publisher, way, names[video], markOut)
			}
		}
	}
	limit := time.NewTimer(lengthened(30 * time.Second))
	defer limit.Stop()
	for _, x := range players {
		select {
		case <-x.done:
		case <-limit.C:
			t.Fatalf("%s has not ended: %v", x.way, wrong)
		}
		may := sent.only(x.way)
		if x.err != nil {
			complain("%s: %v", x.way, x.err)
		}
		wantVideo, wantAudio := may.video.sums(), may.audio.sums()
		mark := markSame
		if x.way == "WHEP" && strings.HasSuffix(names[true], " B") {
			mark, wantVideo = markFewer, inOrderOnly(may.video)
		}
		skipVideo, skipAudio := 0, 12
		// Sound alone has no key frames to begin at: players are at the newest at once.
		if publisher == "WHIP" {
			skipAudio = 50 // its tracks begin when the library has them
		}
		if slices.Contains(late, x.way) || may.video == nil {
			skipVideo, skipAudio = 50, 100
		}
		// A viewer of WebRTC is sent the old pictures of the group at once, for a player
		// to be at the newest: a tick of 90 kHz from one to the next.
		live := 0
		for x.way == "WHEP" && live+1 < len(x.video) && x.video[live+1].shown-x.video[live].shown < time.Millisecond/2 && x.video[live+1].shown > x.video[live].shown {
			live++
		}
		if mark == markFewer {
			live = len(x.video) // pictures that are shown as they come have such times
		}
		from := time.Duration(0)
		for _, both := range []struct {
			got, want []played
			live      int
		}{{x.audio, wantAudio, 0}, {x.video, wantVideo, live}} {
			if both.live < len(both.got) {
				first := both.got[both.live]
				if at := slices.IndexFunc(both.want, func(p played) bool { return p.sum == first.sum }); at >= 0 {
					from = first.shown - both.want[at].shown
				}
			}
		}
		for _, kind := range []struct {
			video     bool
			got, want []played
			skip      int
			live      int
			mark      rune
		}{{true, x.video, wantVideo, skipVideo, live, mark}, {false, x.audio, wantAudio, skipAudio, 0, markSame}} {
			if kind.want == nil {
				if len(kind.got) > 0 {
					complain("%s: %d units of %s, which is not carried", x.way, len(kind.got), names[kind.video])
				}
				continue
			}
			if x.err == nil {
				if x.way == "WHEP" && len(kind.want) > unread {
					// A client throws away what it has not read when the server ends the session.
					for n := 0; n < unread && len(kind.got) > 0 && kind.got[len(kind.got)-1].sum != kind.want[len(kind.want)-1].sum; n++ {
						kind.want = kind.want[:len(kind.want)-1]
					}
				}
				if wrong := sameUnits(kind.got, kind.want, from, kind.skip, kind.live); wrong != "" {
					complain("%s, %s: %s", x.way, names[kind.video], wrong)
					kind.mark = markWrong
				}
			} else {
				kind.mark = markWrong
			}
			set(publisher, x.way, names[kind.video], kind.mark)
		}
	}
	return wrong, marks
}

// inOrderOnly are the pictures without those that come too late to be shown in order and
// to which no other refers.
func inOrderOnly(m *mediaTrack) (list []played) {
	shown := time.Duration(-1)
	for _, u := range m.units {
		if u.shown < shown && disposable(m.codec, u.data) {
			continue
		}
		shown = max(shown, u.shown)
		if sum := sumOf(m.codec, u.data); sum != "" {
			list = append(list, played{u.shown, sum})
		}
	}
	return list
}

// disposable reports whether no other picture refers to this one (H.264, section 7.4.1;
// HEVC, table 7-1).
func disposable(codec string, data []byte) bool {
	for _, p := range nals(data) {
		if codec == "h264" {
			if kind := p[0] & 0x1f; kind >= 1 && kind <= 5 && p[0]&0x60 != 0 {
				return false
			}
		} else if kind := p[0] >> 1 & 0x3f; kind < 32 && (kind >= 16 || kind%2 == 1) {
			return false
		}
	}
	return true
}

// Each protocol in against each out: the elementary streams are the same, and the times.
// Without SLUICE_PROTOCOLS some of all are run; what docs says of them has to be so.
func TestProtocols(t *testing.T) {
	mode := os.Getenv("SLUICE_PROTOCOLS") // all, or update
	t.Parallel()
	type run struct {
		source    int
		publisher string
	}
	runs := []run{{0, "RTMP"}, {2, "HTTP-FLV"}, {3, "RTSP/TCP"}, {1, "RTSP/UDP"}, {5, "WHIP"}, {7, "SRT"}}
	if mode != "" {
		runs = nil
		for number := range sources {
			for _, publisher := range publishWays {
				runs = append(runs, run{number, publisher})
			}
		}
	}
	s := serve(t, options{flags: []string{"--grace", "0"}})
	m := &matrix{dir: t.TempDir(), marks: map[[3]string]rune{}, made: map[int]*mediaSource{}}
	// They wait most of the time.
	places := make(chan struct{}, 6)
	var running sync.WaitGroup
	for _, r := range runs {
		running.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			t.Run(sources[r.source].name+" by "+r.publisher, func(t *testing.T) { m.runProtocol(t, s, r.source, r.publisher) })
		})
	}
	running.Wait()
	page, table, want := documented(t)
	if mode == "update" && !t.Failed() {
		page = strings.Replace(page, table, m.table(), 1)
		if err := os.WriteFile(protocolsPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if mode != "" {
		t.Log("\n" + m.table())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for at, mark := range m.marks {
		if want[at] != mark {
			t.Errorf("%v is %c, docs/results/protocols.md has %c: SLUICE_PROTOCOLS=update writes it anew", at, mark, want[at])
		}
	}
}
