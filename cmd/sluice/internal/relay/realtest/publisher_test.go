//go:build linux

package realtest

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// A publisher that comes back in time finds its viewers where they were, and
// their times go on.
func TestPublisherComesBack(t *testing.T) {
	t.Parallel()
	s := serve(t, flags("--grace 20s"))
	url := "http://" + s.HTTP + "/live/s.flv"
	p := publishHTTP(t, "POST", url)
	f := feedTo(t, p, pace{})
	s.awaitLive(t, "live/s")
	viewers := []*viewer{s.view(t, "flv", "s", ""), s.view(t, "rtmp", "s", ""), s.view(t, "ws", "s", "")}
	for _, v := range viewers {
		v.awaitMedia(t, 50)
	}
	first := f.finish(t)
	for _, v := range viewers {
		v.awaitLast(t, first[len(first)-1])
	}
	p.end(t)
	eventually(t, lengthened(5*time.Second), func() string {
		if info := s.stream(t, "live/s"); info == nil || info.State != "grace" || info.Publisher != nil {
			return "the stream is not in its grace period"
		}
		return ""
	})

	p = publishHTTP(t, "POST", url)
	f = feedTo(t, p, pace{})
	s.awaitLive(t, "live/s")
	for _, v := range viewers {
		v.awaitMedia(t, len(v.media())+50)
		checkSteady(t, v)
	}
	second := f.finish(t)
	for _, v := range viewers {
		// The second clip begins where the first one ended: what is compared is
		// what the packets are, not their times.
		if got := v.media(); !sumsContain(got, second[:30]) {
			t.Errorf("%s has not got the beginning of what the publisher sent after it came back", v.name)
		}
	}
	p.end(t)
}

// ffmpeg is killed and started again: the viewers stay, over RTMP and over HTTP.
func TestFFmpegComesBack(t *testing.T) {
	t.Parallel()
	s := serve(t, flags("--grace 20s"))
	file := clipFile(t)
	for i, url := range []string{"rtmp://" + s.RTMP + "/live/s", "http://" + s.HTTP + "/live/t.flv"} {
		name := []string{"s", "t"}[i]
		p := push(t, file, url, loop...)
		s.awaitLive(t, "live/"+name)
		viewers := []*viewer{s.view(t, "flv", name, ""), s.view(t, "rtmp", name, "")}
		for round := range 2 {
			if round > 0 {
				p.kill()
				// The server knows that it is gone as soon as its connection is.
				eventually(t, lengthened(5*time.Second), func() string {
					if info := s.stream(t, "live/"+name); info == nil || info.State != "grace" {
						return "the stream is not in its grace period"
					}
					return ""
				})
				p = push(t, file, url, loop...)
			}
			for _, v := range viewers {
				v.awaitMedia(t, len(v.media())+60)
			}
		}
		for _, v := range viewers {
			checkSteady(t, v)
		}
	}
}

// checkSteady holds that times of a viewer never jump: not back by more than
// pictures and sounds are interleaved, and not ahead.
func checkSteady(t testing.TB, v *viewer) {
	t.Helper()
	got := v.media()
	for i := 1; i < len(got); i++ {
		if step := int(got[i].Time) - int(got[i-1].Time); step < -50 || step > 1000 {
			t.Errorf("%s: packet %d has time %d after %d", v.name, i, got[i].Time, got[i-1].Time)
			return
		}
	}
}

// sumsContain tells whether the packets want came one after the other in got.
func sumsContain(got, want []digest) bool {
	for at := range got {
		n := 0
		for n < len(want) && at+n < len(got) && got[at+n].Sum == want[n].Sum && got[at+n].Type == want[n].Type {
			n++
		}
		if n == len(want) {
			return true
		}
	}
	return false
}

// A publisher whose times jump back, as those of one that plays its file again
// and does not count on, keeps its viewers, whose times go on.
func TestPublisherPlaysItsFileAgain(t *testing.T) {
	t.Parallel()
	s := serve(t, options{})
	p := publishHTTP(t, "POST", "http://"+s.HTTP+"/live/s.flv")
	f := feedTo(t, p, pace{unpaced: true, rounds: 1})
	s.awaitLive(t, "live/s")
	viewers := []*viewer{s.view(t, "flv", "s", ""), s.view(t, "rtmp", "s", "")}
	receive(t, lengthened(20*time.Second), "end of the first round", f.done)
	for _, v := range viewers {
		v.awaitLast(t, f.published()[clipVideo+clipAudio-1])
	}
	again := feedTo(t, p, pace{})
	for _, v := range viewers {
		v.awaitMedia(t, len(v.media())+60)
		checkSteady(t, v)
	}
	published := again.finish(t)
	for _, v := range viewers {
		if !sumsContain(v.media(), published[:30]) {
			t.Errorf("%s lost packets of the second round", v.name)
		}
	}
	if info := s.stream(t, "live/s"); info.Viewers != len(viewers) || info.Evicted != 0 {
		t.Errorf("the API says %+v", info)
	}
}

// When the publisher does not come back, the viewers are notified of the end.
func TestGraceEnds(t *testing.T) {
	t.Parallel()
	s := serve(t, flags("--grace 1s"))
	p := publishHTTP(t, "POST", "http://"+s.HTTP+"/live/s.flv")
	f := feedTo(t, p, pace{})
	s.awaitLive(t, "live/s")
	viewers := []*viewer{s.view(t, "flv", "s", ""), s.view(t, "rtmp", "s", ""), s.view(t, "ws", "s", "")}
	for _, v := range viewers {
		v.awaitMedia(t, 20)
	}
	published := f.finish(t)
	ended := time.Now()
	p.end(t)
	for _, v := range viewers {
		v.awaitEOF(t)
		if last, _ := v.last(); last != published[len(published)-1] {
			t.Errorf("%s ended with %+v, the last packet was %+v", v.name, last, published[len(published)-1])
		}
	}
	if took := time.Since(ended); took < 900*time.Millisecond {
		t.Errorf("the grace of 1 s was over after %v", took)
	}
	eventually(t, lengthened(5*time.Second), func() string {
		if s.stream(t, "live/s") != nil {
			return "the stream is still there"
		}
		return ""
	})
}

// A name belongs to who publishes under it; the second one hears that at once.
func TestBusyName(t *testing.T) {
	t.Parallel()
	s := serve(t, options{})
	p := publishHTTP(t, "POST", "http://"+s.HTTP+"/live/s.flv")
	f := feedTo(t, p, pace{})
	s.awaitLive(t, "live/s")
	v := s.view(t, "flv", "s", "")

	second := publishHTTP(t, "POST", "http://"+s.HTTP+"/live/s.flv?key=other")
	var code *status
	if err := receive(t, lengthened(5*time.Second), "answer", second.result); !errors.As(err, &code) || code.code != http.StatusConflict {
		t.Errorf("the second publisher over HTTP got %v, want status %d", err, http.StatusConflict)
	}
	var no *refused
	if _, err := publishRTMP(dial(t, s.RTMP, false), "live", "s?key=other"); !errors.As(err, &no) || no.code != "NetStream.Publish.BadName" {
		t.Errorf("the second publisher over RTMP got %v, want NetStream.Publish.BadName", err)
	}
	v.awaitMedia(t, 50)
	checkViewers(t, f, []*viewer{v})
}

// With --takeover replace the newer one has the name, and the viewers stay.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	s := serve(t, flags("--takeover replace"))
	first := publishHTTP(t, "POST", "http://"+s.HTTP+"/live/s.flv")
	old := feedTo(t, first, pace{})
	s.awaitLive(t, "live/s")
	viewers := []*viewer{s.view(t, "flv", "s", ""), s.view(t, "rtmp", "s", "")}
	for _, v := range viewers {
		v.awaitMedia(t, 30)
	}
	second, err := publishRTMP(dial(t, s.RTMP, false), "live", "s")
	if err != nil {
		t.Fatal(err)
	}
	f := feedTo(t, second, pace{})
	receive(t, lengthened(10*time.Second), "word to the first publisher", first.result)
	old.stop()
	for _, v := range viewers {
		v.awaitMedia(t, len(v.media())+50)
		checkSteady(t, v)
		if !sumsContain(v.media(), f.published()[:30]) {
			t.Errorf("%s has not got the beginning of what the second publisher sent", v.name)
		}
	}
	f.finish(t)
}

// A stream without a publisher is refused at once, for every protocol.
func TestUnknownStream(t *testing.T) {
	t.Parallel()
	s := serve(t, options{tls: true})
	// At once is within a second, once in some tries on a machine that is busy.
	atOnce := func(what string, limit time.Duration, f func()) {
		t.Helper()
		soonest := time.Hour
		for try := 0; try < 10 && soonest > limit; try++ {
			began := time.Now()
			f()
			soonest = min(soonest, time.Since(began))
		}
		if soonest > limit {
			t.Errorf("%s: that took %v", what, soonest)
		}
	}
	for _, secure := range []bool{false, true} {
		web, rtmp := s.HTTP, s.RTMP
		if secure {
			web, rtmp = s.HTTPS, s.RTMPS
		}
		atOnce(fmt.Sprintf("secure %v", secure), time.Second, func() {
			var code *status
			if _, err := playHTTP(dial(t, web, secure), "/live/nosuch.flv"); !errors.As(err, &code) || code.code != http.StatusNotFound {
				t.Errorf("HTTP, secure %v: %v", secure, err)
			}
			if _, err := playWebSocket(dial(t, web, secure), "/live/nosuch.flv"); !errors.As(err, &code) || code.code != http.StatusNotFound {
				t.Errorf("WebSocket, secure %v: %v", secure, err)
			}
			var no *refused
			if _, err := playRTMP(dial(t, rtmp, secure), "live", "nosuch"); !errors.As(err, &no) || no.code != "NetStream.Play.StreamNotFound" {
				t.Errorf("RTMP, secure %v: %v", secure, err)
			}
		})
	}
	for _, url := range []string{"rtmp://" + s.RTMP + "/live/nosuch", "http://" + s.HTTP + "/live/nosuch.flv"} {
		atOnce(url, 3*time.Second, func() {
			p := ffmpeg(t, "-loglevel", "error", "-i", url, "-c", "copy", "-f", "null", "-")
			if code := p.wait(t, lengthened(10*time.Second)); code == 0 {
				t.Errorf("ffmpeg -i %s: %d", url, code)
			}
		})
	}
	// Who says that it can wait waits that long.
	began := time.Now()
	var code *status
	if _, err := playHTTP(dial(t, s.HTTP, false), "/live/nosuch.flv?wait=1"); !errors.As(err, &code) || code.code != http.StatusNotFound || time.Since(began) < 900*time.Millisecond {
		t.Errorf("after waiting %v: %v", time.Since(began), err)
	}
}
