package relay

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hls"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hlstest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
)

// An hlsFeed publishes a clip over and over.
type hlsFeed struct {
	*relayPipe
	clip   []flvtest.Tag
	length uint32
	at     uint32
}

func (s *relayServer) feeding(t *testing.T, path string) *hlsFeed {
	f := &hlsFeed{relayPipe: s.publishing(t, path), clip: flvtest.Clip(t)}
	for _, g := range f.clip {
		f.length = max(f.length, g.Time+40)
	}
	return f
}

// loop sends the clip once more.
func (f *hlsFeed) loop(t *testing.T) {
	t.Helper()
	for _, g := range f.clip {
		g.Time += f.at
		f.send(t, g)
	}
	f.at += f.length
}

// on sends the clip until a function returns true, with time for readers.
func (f *hlsFeed) on(t *testing.T, what string, done func() bool) {
	t.Helper()
	next := time.Now()
	relayEventually(t, what, func() bool {
		if done() {
			return true
		}
		if time.Now().After(next) {
			f.loop(t)
			next = time.Now().Add(30 * time.Millisecond)
		}
		return false
	})
}

// during sends the clip until f returns.
func (f *hlsFeed) during(t *testing.T, work func()) {
	t.Helper()
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			for _, g := range f.clip {
				g.Time += f.at
				if _, err := f.Write(g.Append(nil)); err != nil {
					return
				}
			}
			f.at += f.length
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	defer func() {
		close(stop)
		<-ended
	}()
	work()
}

// hlsServe runs a server whose viewers and muxers end with the test, unless hlsShort is called.
func hlsServe(t *testing.T, change func(*relayConfig)) *relayServer {
	s := startRelay(t, func(c *relayConfig) {
		c.GOPTime = 10 * time.Minute
		if change != nil {
			change(c)
		}
	})
	s.hls.Times = hls.Times{First: relayWait, Fresh: relayWait, Idle: relayWait, Linger: relayWait, Start: relayWait}
	return s
}

// An hlsViewer reads playlists.
type hlsViewer struct {
	s        *relayServer
	media    string // path of the media playlist, with its query
	query    string
	playlist *hlstest.Playlist
}

// watchHLS reads the multivariant playlist.
func (s *relayServer) watchHLS(t *testing.T, address string) *hlsViewer {
	t.Helper()
	status, text := s.get(t, address)
	if status != 200 {
		t.Fatalf("%s: %d %s", address, status, text)
	}
	list := addressesIn(text)
	if len(list) == 0 {
		t.Fatalf("no address in %s", text)
	}
	v := &hlsViewer{s: s, media: hlsJoin(t, address, list[0])}
	_, v.query, _ = strings.Cut(v.media, "?")
	return v
}

// addressesIn are the lines of a playlist that are no tags.
func addressesIn(text string) (list []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	return list
}

// hlsJoin resolves an address in a playlist.
func hlsJoin(t *testing.T, base, address string) string {
	t.Helper()
	b, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	u, err := b.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.String()
}

// read reads the media playlist with these directives, and checks it.
func (v *hlsViewer) read(t *testing.T, directives string) *hlstest.Playlist {
	t.Helper()
	status, text := v.s.get(t, v.media+directives)
	if status != 200 {
		t.Fatalf("%s%s: %d %s", v.media, directives, status, text)
	}
	p, err := hlstest.Parse(text)
	if err == nil && v.playlist != nil {
		err = p.Follows(v.playlist)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, a := range p.Addresses() {
		if _, query, _ := strings.Cut(a, "?"); query != v.query {
			t.Errorf("the query of %s is not %s", a, v.query)
		}
	}
	v.playlist = p
	return p
}

// settled reads the playlist until it does not change any more, nor do frames come, and its
// first segment is whole.
func (v *hlsViewer) settled(t *testing.T) (p *hlstest.Playlist) {
	t.Helper()
	same, state := 0, ""
	relayEventually(t, "the last part", func() bool {
		p = v.read(t, "")
		frames := int64(0)
		for _, st := range v.s.host.Hub.Streams() {
			frames += st.Stats().FramesIn
		}
		if now := fmt.Sprint(p.Hint, frames); now != state || len(p.Segments) == 0 || p.Segments[0].URI == "" {
			same, state = 0, now
		}
		same++
		return same > 10
	})
	return p
}

func (v *hlsViewer) fetch(t *testing.T, address string) string {
	t.Helper()
	status, text := v.s.get(t, hlsJoin(t, v.media, address))
	if status != 200 {
		t.Fatalf("%s: %d %s", address, status, text)
	}
	return text
}

func (s *relayServer) hlsShort() {
	s.hls.Times = hls.Times{First: 200 * time.Millisecond, Idle: 300 * time.Millisecond, Linger: 100 * time.Millisecond, Start: 20 * time.Second}
}

// Nothing is made for a stream without requests, and all of it is given back some
// time after the last request.
func TestHLSOnlyWhileItIsAskedFor(t *testing.T) {
	s := hlsServe(t, nil)
	s.hlsShort()
	f := s.feeding(t, "/live/s.flv")
	f.loop(t)
	s.awaitStream(t, "live/s")
	if bytes, muxers := s.hls.Held(); bytes != 0 || muxers != 0 {
		t.Fatalf("%d bytes and %d muxers without a viewer", bytes, muxers)
	}
	gone := func() {
		t.Helper()
		relayEventually(t, "the end of viewer and muxer", func() bool {
			bytes, muxers := s.hls.Held()
			return bytes == 0 && muxers == 0 && len(s.host.Register.List()) == 1
		})
	}
	// On a busy machine the viewer may have gone before it was looked for: then it has more time.
	var asked time.Time
	var target time.Duration
	for tries := 0; ; tries++ {
		f.during(t, func() {
			v := s.watchHLS(t, "/live/s.m3u8")
			asked = time.Now()
			target = time.Duration(v.read(t, "").Target) * time.Second
		})
		wrong := ""
		if bytes, muxers := s.hls.Held(); bytes == 0 || muxers != 1 {
			wrong = fmt.Sprintf("%d bytes and %d muxers with a viewer", bytes, muxers)
		}
		list := s.host.Register.List()
		if len(list) != 2 || list[1].Protocol != session.HLS || list[1].Figures().Bytes == 0 {
			wrong += fmt.Sprintf("; clients are %+v", list)
		}
		_, text := s.get(t, "/api/streams/live/s")
		if !strings.Contains(text, `"hls":{"mode":"low-latency","codecs":"avc1.`) || !strings.Contains(text, `"viewers":1`) {
			wrong += "; the API says " + text
		}
		if wrong == "" {
			break
		}
		if tries == 8 {
			t.Fatal(wrong)
		}
		gone()
		s.hls.Times.First, s.hls.Times.Idle, s.hls.Times.Linger = 2*s.hls.Times.First, 2*s.hls.Times.Idle, 2*s.hls.Times.Linger
	}
	gone()
	if since := time.Since(asked); since < target { // players of whole segments ask once in that time
		t.Errorf("the viewer has ended %v after its last request, the target duration is %v", since, target)
	}
	s.log.line(t, "viewer ended", "protocol=hls", "asks no more")
}

func (s *relayServer) awaitStream(t *testing.T, name string) {
	t.Helper()
	relayEventually(t, name, func() bool {
		st, ok := s.host.Hub.Stream(name)
		return ok && st.Stats().FramesIn > 0
	})
}

func TestHLSPlaylistsAndMedia(t *testing.T) {
	for _, mode := range []string{config.HLSLow, config.HLSPlain} {
		t.Run(mode, func(t *testing.T) {
			s := hlsServe(t, func(c *relayConfig) { c.HLS = mode })
			f := s.feeding(t, "/live/s.flv")
			f.loop(t)
			s.awaitStream(t, "live/s")
			var v *hlsViewer
			f.during(t, func() { v = s.watchHLS(t, "/live/s.m3u8") })
			f.on(t, "segments", func() bool { return len(v.read(t, "").Segments) >= 5 })
			p := v.settled(t)
			for _, g := range p.Segments[len(p.Segments)-3:] {
				if init := v.fetch(t, g.Map); init[4:8] != "ftyp" {
					t.Errorf("the initialization begins with %q", init[:8])
				}
				parts := ""
				for _, part := range g.Parts {
					parts += v.fetch(t, part.URI)
				}
				if g.URI == "" {
					continue
				}
				whole := v.fetch(t, g.URI)
				if whole[4:8] != "moof" || mode == config.HLSLow && whole != parts {
					t.Errorf("segment of %d bytes with parts of %d", len(whole), len(parts))
				}
				at := hlsJoin(t, v.media, g.URI)
				resp := s.request(t, "HEAD", at, nil)
				if resp.ContentLength != int64(len(whole)) || resp.Header.Get("Accept-Ranges") != "bytes" {
					t.Errorf("HEAD: %v", resp.Header)
				}
				for value, want := range map[string]string{"bytes=10-999": whole[10:1000], "bytes=-7": whole[len(whole)-7:], "bytes=0-0": whole[:1]} {
					if status, text := s.do(t, "GET", at, http.Header{"Range": {value}}); status != 206 || text != want {
						t.Errorf("%s: %d, %d bytes", value, status, len(text))
					}
				}
				if status, _ := s.do(t, "GET", at, http.Header{"Range": {"bytes=99999999-"}}); status != 416 {
					t.Errorf("a range behind the end: %d", status)
				}
			}
			f.CloseWithError(io.EOF)
			relayEventually(t, "the end of the playlist", func() bool { return v.read(t, "").End })
		})
	}
}

// A request for what comes next is answered when it comes, and one for the part of the
// hint too.
func TestHLSBlockingReload(t *testing.T) {
	s := hlsServe(t, nil)
	f := s.feeding(t, "/live/s.flv")
	f.loop(t)
	s.awaitStream(t, "live/s")
	var v *hlsViewer
	f.during(t, func() { v = s.watchHLS(t, "/live/s.m3u8") })
	p := v.settled(t)
	for range 12 {
		last := p.Sequence + len(p.Segments) - 1
		part := 0
		if n := len(p.Segments); p.Segments[n-1].URI == "" {
			part = len(p.Segments[n-1].Parts)
		} else {
			last++
		}
		hint := hlsJoin(t, v.media, p.Hint)
		got := make(chan string, 1)
		go func() {
			resp, err := http.Get("http://" + s.http + hint)
			if err != nil {
				got <- err.Error()
				return
			}
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body)
			got <- string(text)
		}()
		f.loop(t) // less than the playlist has
		p = v.read(t, fmt.Sprintf("&_HLS_msn=%d&_HLS_part=%d", last, part))
		if text := <-got; len(text) < 8 || text[4:8] != "moof" {
			t.Errorf("the part of the hint is %.80q", text)
		}
		newest := p.Sequence + len(p.Segments) - 1
		if newest < last || newest == last && len(p.Segments[len(p.Segments)-1].Parts) <= part && p.Segments[len(p.Segments)-1].URI == "" {
			t.Errorf("segment %d, part %d are not in the answer", last, part)
		}
	}
	p = v.settled(t)
	// What has come is answered at once, also a part behind its segment's last.
	v.read(t, fmt.Sprintf("&_HLS_msn=%d", p.Sequence))
	v.read(t, fmt.Sprintf("&_HLS_msn=%d&_HLS_part=1000000", p.Sequence))
	for _, absurd := range []string{
		fmt.Sprintf("_HLS_msn=%d", p.Sequence+1000), "_HLS_msn=4611686018427387903", "_HLS_msn=99999999999999999999999", "_HLS_msn=-1", "_HLS_msn=x",
		"_HLS_part=1", fmt.Sprintf("_HLS_msn=%d&_HLS_part=-2", p.Sequence),
	} {
		if status, text := s.get(t, v.media+"&"+absurd); status != 400 {
			t.Errorf("%s: %d %s", absurd, status, text)
		}
	}
	for end := time.Now().Add(relayWait); ; p = v.settled(t) { // on a busy machine the playlist may have gone on since
		status, text := s.get(t, fmt.Sprintf("%s&_HLS_msn=%d&_HLS_part=4611686018427387903", v.media, p.Sequence+len(p.Segments)))
		if status == 400 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("a part that will never be: %d %s", status, text)
		}
	}
}

// Requests that wait end with the stream, and with the server.
func TestHLSRequestsThatWaitEnd(t *testing.T) {
	const waiting = 200
	for _, by := range []string{"stream", "server"} {
		t.Run(by, func(t *testing.T) {
			s := hlsServe(t, nil)
			f := s.feeding(t, "/live/s.flv")
			f.loop(t)
			s.awaitStream(t, "live/s")
			var v *hlsViewer
			f.during(t, func() { v = s.watchHLS(t, "/live/s.m3u8") })
			p := v.settled(t)
			next := p.Sequence + len(p.Segments)
			if p.Segments[len(p.Segments)-1].URI == "" {
				next--
			}
			client := &http.Client{Timeout: relayWait}
			defer client.CloseIdleConnections()
			answers := make(chan int, waiting)
			var asked sync.WaitGroup
			for i := range waiting {
				asked.Add(1)
				go func() {
					address := fmt.Sprintf("http://%s%s&_HLS_msn=%d", s.http, v.media, next)
					if i%2 == 1 {
						address = "http://" + s.http + hlsJoin(t, v.media, p.Hint)
					}
					asked.Done()
					resp, err := client.Get(address)
					if err != nil {
						answers <- -1
						return
					}
					resp.Body.Close()
					answers <- resp.StatusCode
				}()
			}
			asked.Wait()
			if by == "stream" {
				f.CloseWithError(io.EOF)
			} else {
				go s.Close()
			}
			for range waiting {
				select {
				case <-answers:
				case <-time.After(relayWait):
					t.Fatal("a request still waits")
				}
			}
		})
	}
}

func TestHLSRefusals(t *testing.T) {
	const secret = "a secret that is long enough"
	s := hlsServe(t, func(c *relayConfig) { c.Protect, c.TokenSecret = []string{"play"}, secret })
	token := func(stream string) string {
		return "token=" + access.Sign([]byte(secret), access.Play, stream, time.Now().Add(time.Hour))
	}
	f, other := s.feeding(t, "/live/s.flv"), s.feeding(t, "/live/other.flv")
	f.loop(t)
	other.loop(t)
	s.awaitStream(t, "live/s")
	s.awaitStream(t, "live/other")
	var v *hlsViewer
	f.during(t, func() { v = s.watchHLS(t, "/live/s.m3u8?"+token("live/s")) })
	if !strings.Contains(v.query, "token=") {
		t.Errorf("the query of the playlist is %s", v.query)
	}
	p := v.settled(t)
	_, muxers := s.hls.Held()
	clients := len(s.host.Register.List())
	segment := hlsJoin(t, v.media, p.Segments[0].URI)
	bare, query, _ := strings.Cut(segment, "?")
	file := path.Base(bare)
	for address, want := range map[string]int{
		"/live/s.m3u8":                                    401,
		"/live/s.m3u8?" + token("live/other"):             401,
		"/live/none.m3u8?" + token("live/none"):           404,
		"/live/s.m3u8?token=x":                            401,
		"/live/s.m3u8?session=" + strings.Repeat("a", 32): 401,
		bare:                             401, // a session is not named
		bare + "?" + token("live/other"): 401,
		strings.Replace(segment, "/live/s/", "/live/other/", 1): 401, // the session of another stream
		"/live/s/.hls/1/" + file + "?" + query:                  404,
		"/live/s/.hls/99/" + file + "?" + query:                 404,
		"/live/s/.hls/00/" + file + "?" + query:                 404,
		"/live/s/.hls/-1/" + file + "?" + query:                 404,
		"/live/s/.hls/0/../" + file + "?" + query:               404,
		"/live/s/.hls/0/%2e%2e/" + file + "?" + query:           404,
		"/live/s/.hls/0/..%2f..%2fetc%2fpasswd?" + query:        404,
		"/live/s/.hls/0/x" + file + "?" + query:                 404,
		"/live/s/.hls/0/" + file + "x?" + query:                 404,
		"/live/s/.hls/0/?" + query:                              404,
		"/live/s/.hls/0?" + query:                               404,
		"/.hls/0/" + file + "?" + query:                         400,
		"/live/../live/s.m3u8?" + query:                         400,
		"/live/.s.m3u8?" + query:                                400,
		"/.m3u8?" + query:                                       400,
		"/live/s/.hls/0/index.m3u8?" + query + "&merge=9999":    400,
	} {
		if status, text := s.get(t, address); status != want {
			t.Errorf("%s: %d %s, want %d", address, status, text, want)
		}
	}
	for _, number := range []string{"00", "+0", "-0", "99999999999999999999", "4611686018427387904", "1e3", "", "0x0"} {
		name := file[:strings.IndexByte(file, '-')+2]
		for _, kind := range "isp" {
			address := path.Dir(bare) + "/" + name[:len(name)-1] + string(kind) + url.PathEscape(number) + ".mp4?" + query
			if status, _ := s.get(t, address); status != 404 {
				t.Errorf("%s: %d", address, status)
			}
		}
	}
	if _, now := s.hls.Held(); now != muxers || len(s.host.Register.List()) != clients {
		t.Errorf("%d muxers and %d clients, before %d and %d", now, len(s.host.Register.List()), muxers, clients)
	}
	if status, _ := s.do(t, "POST", "/live/s.m3u8", nil); status != 405 {
		t.Errorf("POST: %d", status)
	}
	resp := s.request(t, "OPTIONS", segment, http.Header{"Origin": {"https://a.example"}, "Access-Control-Request-Method": {"GET"}})
	if resp.StatusCode != 204 || resp.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("OPTIONS: %d %v", resp.StatusCode, resp.Header)
	}
	if resp := s.request(t, "GET", segment, http.Header{"Origin": {"https://a.example"}}); resp.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("CORS: %v", resp.Header)
	}
}

// A viewer counts once, and its end by the API holds while its player asks on.
func TestHLSViewersAreLimitedAndEnded(t *testing.T) {
	s := hlsServe(t, func(c *relayConfig) { c.MaxViewers, c.APIToken = 1, "0123456789" })
	f := s.feeding(t, "/live/s.flv")
	f.loop(t)
	s.awaitStream(t, "live/s")
	var v *hlsViewer
	f.during(t, func() { v = s.watchHLS(t, "/live/s.m3u8") })
	v.read(t, "")
	if status, text := s.get(t, "/live/s.m3u8"); status != 503 {
		t.Errorf("the second viewer: %d %s", status, text)
	}
	v.read(t, "")
	list := s.host.Register.List()
	if len(list) != 2 {
		t.Fatalf("%d clients", len(list))
	}
	if status, text := s.do(t, "DELETE", "/api/clients/"+list[1].ID, http.Header{"Authorization": {"Bearer 0123456789"}}); status != 204 {
		t.Fatal(status, text)
	}
	relayEventually(t, "the viewer's end", func() bool { return len(s.host.Register.List()) == 1 && s.host.Gate.Usage().Viewers == 0 })
	if status, _ := s.get(t, v.media); status != 403 {
		t.Errorf("the ended viewer gets %d", status)
	}
	f.during(t, func() { s.watchHLS(t, "/live/s.m3u8") })
}

func TestHLSOff(t *testing.T) {
	s := hlsServe(t, func(c *relayConfig) { c.HLS = config.HLSOff })
	s.feeding(t, "/live/s.flv").loop(t)
	s.awaitStream(t, "live/s")
	if status, _ := s.get(t, "/live/s.m3u8"); status != 404 {
		t.Errorf("status %d", status)
	}
}

// Streams of a group are the rows of one playlist, also when none has the group's name.
func TestHLSGroups(t *testing.T) {
	const secret = "a secret that is long enough"
	s := hlsServe(t, func(c *relayConfig) {
		c.HLSGroup = []string{"live/*_720", "live/*_360"}
		c.Protect, c.TokenSecret = []string{"play"}, secret
	})
	a, b := s.feeding(t, "/live/cam_720.flv"), s.feeding(t, "/live/cam_360.flv")
	a.loop(t)
	b.loop(t)
	s.awaitStream(t, "live/cam_720")
	s.awaitStream(t, "live/cam_360")
	token := "?token=" + access.Sign([]byte(secret), access.Play, "live/cam", time.Now().Add(time.Hour))
	text := ""
	a.during(t, func() {
		b.during(t, func() {
			var status int
			if status, text = s.get(t, "/live/cam.m3u8"+token); status != 200 {
				t.Fatal(status, text)
			}
		})
	})
	list := addressesIn(text)
	if len(list) != 2 || strings.Count(text, "RESOLUTION=") != 2 || strings.Count(text, "CODECS=\"avc1.") != 2 {
		t.Fatalf("the playlist is %s", text)
	}
	for i, address := range list {
		v := &hlsViewer{s: s, media: hlsJoin(t, "/live/cam.m3u8", address)}
		_, v.query, _ = strings.Cut(v.media, "?")
		if p := v.read(t, ""); !strings.Contains(v.media, fmt.Sprintf("/cam/.hls/%d/", i+1)) || !strings.HasPrefix(v.fetch(t, p.Segments[0].Map)[4:], "ftyp") {
			t.Errorf("row %d is %s", i, v.media)
		}
	}
	if n := s.host.Register.Number(session.RoleViewer); n != 1 {
		t.Errorf("%d viewers, want one for all rows", n)
	}
	if status, text := s.get(t, "/live/nothing.m3u8?token="+access.Sign([]byte(secret), access.Play, "live/nothing", time.Now().Add(time.Hour))); status != 404 {
		t.Errorf("a group of nothing: %d %s", status, text)
	}
}

// A codec that HLS has no form for is left out and named; a stream of nothing else is
// not found.
func TestHLSCodecsThatAreLeftOut(t *testing.T) {
	s := hlsServe(t, nil)
	f := s.feeding(t, "/live/s.flv")
	mp3 := string(append([]byte{0x2f, 0xff, 0xfb, 0x90, 0xc0}, make([]byte, 413)...))
	var mixed, sound []flvtest.Tag
	for _, g := range f.clip {
		switch {
		case g.Type == flv.TagVideo:
			mixed = append(mixed, g)
		case g.Type == flv.TagAudio:
			mixed = append(mixed, flvtest.Tag{Type: g.Type, Time: g.Time, Payload: mp3})
			sound = append(sound, flvtest.Tag{Type: g.Type, Time: g.Time, Payload: mp3})
		}
	}
	f.clip = mixed
	f.loop(t)
	s.awaitStream(t, "live/s")
	text := ""
	f.during(t, func() { _, text = s.get(t, "/live/s.m3u8") })
	if !strings.Contains(text, `CODECS="avc1.`) || strings.Contains(text, "mp4a") {
		t.Errorf("the playlist is %s", text)
	}
	if _, text := s.get(t, "/api/streams/live/s"); !strings.Contains(text, `"left_out":["`) {
		t.Errorf("the API says %s", text)
	}
	s.log.line(t, "left out", "live/s")
	g := s.feeding(t, "/live/sound.flv")
	g.clip = sound
	g.loop(t)
	s.awaitStream(t, "live/sound")
	if status, text := s.get(t, "/live/sound.m3u8"); status != 404 || !strings.Contains(text, "no track") {
		t.Errorf("%d %s", status, text)
	}
}

// Segments of all streams take their part of the memory limit and no more.
func TestHLSMemory(t *testing.T) {
	s := hlsServe(t, func(c *relayConfig) { c.MaxMemory = 128 << 20; c.HLSSegments = 100 })
	var feeds []*hlsFeed
	for i := range 3 {
		f := s.feeding(t, fmt.Sprintf("/live/s%d.flv", i))
		f.loop(t)
		s.awaitStream(t, fmt.Sprintf("live/s%d", i))
		feeds = append(feeds, f)
	}
	most := int64(0)
	var viewers []*hlsViewer
	for i, f := range feeds {
		f.during(t, func() { viewers = append(viewers, s.watchHLS(t, fmt.Sprintf("/live/s%d.m3u8", i))) })
	}
	limit := int64(128<<20) / 10
	for range 12 {
		for _, f := range feeds {
			f.loop(t)
		}
		now, _ := s.hls.Held()
		most = max(most, now)
	}
	if most > limit {
		t.Errorf("%d bytes of segments, the limit is %d", most, limit)
	}
	for _, v := range viewers {
		v.playlist = nil
		if p := v.read(t, ""); p.Sequence == math.MaxInt {
			t.Error("no playlist")
		}
	}
}

// A publisher that comes back within the grace period goes on in the same playlist: the
// stream's time goes on without a jump, so there is no discontinuity.
func TestHLSPublisherThatComesBack(t *testing.T) {
	s := hlsServe(t, func(c *relayConfig) { c.Grace, c.HLSSegments = time.Minute, 100 })
	f := s.feeding(t, "/live/s.flv")
	for range 10 {
		f.loop(t)
	}
	s.awaitStream(t, "live/s")
	var v *hlsViewer
	f.during(t, func() { v = s.watchHLS(t, "/live/s.m3u8") })
	before := v.settled(t)
	f.CloseWithError(io.EOF)
	if a := f.answered(t); a.status != 200 {
		t.Fatalf("%+v", a)
	}
	f = s.feeding(t, "/live/s.flv")
	f.on(t, "segments of the second publisher", func() bool {
		p := v.read(t, "")
		return p.Sequence+len(p.Segments) > before.Sequence+len(before.Segments)+4
	})
	breaks := 0
	for _, g := range v.settled(t).Segments {
		if g.Discontinuity {
			breaks++
		}
	}
	if breaks != 0 || v.playlist.End {
		t.Errorf("%d discontinuities, ended: %v", breaks, v.playlist.End)
	}
}
