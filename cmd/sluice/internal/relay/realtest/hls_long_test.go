//go:build linux

package realtest

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hlstest"
)

// An hlsViewer plays by low-latency HLS as a player does: it asks for the next part as
// soon as it has one.
type hlsViewer struct {
	client *http.Client
	parts  *atomic.Int64
}

func (v *hlsViewer) get(ctx context.Context, address string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, "GET", address, nil)
	if err != nil {
		return "", err
	}
	resp, err := v.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != 200 {
		err = fmt.Errorf("%s: %s: %s", address, resp.Status, text)
	}
	return string(text), err
}

// play plays until ctx is done.
func (v *hlsViewer) play(ctx context.Context, address string) error {
	base, err := url.Parse(address)
	if err != nil {
		return err
	}
	text, err := v.get(ctx, address)
	if err != nil {
		return err
	}
	lines := strings.Fields(text)
	media, err := base.Parse(lines[len(lines)-1])
	if err != nil {
		return err
	}
	had, position := "", ""
	for ctx.Err() == nil {
		text, err := v.get(ctx, media.String()+position)
		if err != nil {
			return err
		}
		p, err := hlstest.Parse(text)
		if err != nil {
			return err
		}
		number, part, newest := p.Sequence+len(p.Segments), 0, ""
		last := p.Segments[len(p.Segments)-1]
		if last.URI == "" {
			number, part = number-1, len(last.Parts)
		}
		if len(last.Parts) > 0 {
			newest = last.Parts[len(last.Parts)-1].URI
		}
		position = fmt.Sprintf("&_HLS_msn=%d&_HLS_part=%d", number, part)
		if newest == "" || newest == had {
			continue
		}
		had = newest
		one, err := media.Parse(newest)
		if err != nil {
			return err
		}
		if text, err := v.get(ctx, one.String()); err != nil {
			return err
		} else if len(text) < 8 || text[4:8] != "moof" {
			return fmt.Errorf("a part is %.40q", text)
		}
		v.parts.Add(1)
	}
	return nil
}

// What 1,000 viewers by low-latency HLS take beside one: they share the segments.
func TestHLSThousandViewers(t *testing.T) {
	long(t, "1,000 viewers take a minute; TestHLSInFFmpeg has one")
	// A viewer has a connection with a stack of 4 to 8 KiB (package keepalive), a session
	// and a request, and the collector lets garbage grow to half of all that. A busy machine
	// only adds to it, so the least of some rounds counts.
	const most, rounds = 30_000_000, 3
	least := int64(math.MaxInt64)
	for n := 0; n < rounds && least > most && !t.Failed(); n++ {
		t.Run(fmt.Sprintf("round %d", n+1), func(t *testing.T) { least = min(least, thousandViewers(t)) })
	}
	if measured() && least > most {
		t.Errorf("%d bytes more than with one viewer in each of %d rounds, the limit is %d", least, rounds, most)
	}
}

// thousandViewers returns how many bytes a server with 1,000 viewers has more than with one.
func thousandViewers(t *testing.T) int64 {
	const viewers = 1000
	// On a busy machine so many connections of one address are slow to send a request.
	s := serve(t, options{flags: []string{"--max-handshakes", "8192", "--max-handshakes-per-address", "4096"}})
	ffmpeg(t, "-loglevel", "warning", "-re", "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=15", "-f", "lavfi", "-i", "sine=frequency=440",
		"-c:v", "libx264", "-preset", "ultrafast", "-b:v", "100k", "-g", "15", "-pix_fmt", "yuv420p", "-c:a", "aac", "-b:a", "32k", "-f", "flv", "rtmp://"+s.RTMP+"/live/s")
	s.awaitLive(t, "live/s")
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	var failed atomic.Pointer[error]
	var parts atomic.Int64
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: viewers, DisableCompression: true}}
	t.Cleanup(func() {
		cancel()
		running.Wait()
		client.CloseIdleConnections()
	})
	begin := func(n int) {
		for range n {
			v := &hlsViewer{client, &parts}
			running.Go(func() {
				if err := v.play(ctx, "http://"+s.HTTP+"/live/s.m3u8"); err != nil && ctx.Err() == nil {
					failed.CompareAndSwap(nil, &err)
				}
			})
		}
	}
	// play waits until each viewer has so many parts more, and returns the most memory
	// that the server has had meanwhile.
	play := func(each int) int64 {
		highest, until := int64(0), parts.Load()+int64(each*viewers)
		eventually(t, lengthened(3*time.Minute), func() string {
			if err := failed.Load(); err != nil {
				t.Fatal(*err)
			}
			highest = max(highest, int64(resident(t, s.PID)))
			if now := parts.Load(); now < until {
				return fmt.Sprintf("%d parts, %d are awaited", now, until)
			}
			return ""
		})
		return highest
	}
	begin(1)
	eventually(t, lengthened(time.Minute), func() string {
		if n := parts.Load(); n < 15 {
			return fmt.Sprintf("%d parts", n)
		}
		return ""
	})
	one := int64(resident(t, s.PID))
	begin(viewers - 1)
	play(3) // all have come
	all := play(20)
	var text string
	s.get(t, "/metrics", &text)
	for _, name := range []string{"go_memstats_stack_inuse_bytes", "go_memstats_heap_inuse_bytes", "go_memstats_next_gc_bytes", "go_memstats_gc_sys_bytes", "go_goroutines"} {
		if at := strings.Index(text, "\n"+name+" "); at >= 0 {
			line, _, _ := strings.Cut(text[at+1:], "\n")
			t.Log(line)
		}
	}
	t.Logf("%.1f MiB at the end; below, the most since all had come", float64(resident(t, s.PID))/(1<<20))
	t.Logf("%.1f MiB with one viewer, %.1f with %d: %.1f KiB each", float64(one)/(1<<20), float64(all)/(1<<20), viewers, float64(all-one)/1024/viewers)
	return all - one
}

// The page's player by HLS is three seconds behind live at most.
func TestHLSLiveEdge(t *testing.T) {
	long(t, "it plays for half a minute")
	s := serve(t, options{})
	push(t, clipFile(t), "rtmp://"+s.RTMP+"/live/s", loop...)
	s.awaitLive(t, "live/s")
	ctx, _, _ := browse(t)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate("http://"+s.HTTP+"/?stream=live/s"), chromedp.WaitVisible(chromedp.CSS("#video"))); err != nil {
		t.Fatal(err)
	}
	evaluate[bool](t, ctx, `(() => {
		const e = document.getElementById("transport");
		e.value = "hls";
		return e.dispatchEvent(new Event("change", {bubbles: true}));
	})()`)
	latency := regexp.MustCompile(`By\s+HLS\s+Latency\s+([0-9.]+)\s*(ms|s)`)
	good, worst := 0, 0.0
	eventually(t, lengthened(40*time.Second), func() string {
		text := evaluate[string](t, ctx, `document.getElementById("playing").innerText`)
		m := latency.FindStringSubmatch(text)
		if m == nil {
			return "no latency in " + text + "; " + said(t, ctx)
		}
		at, _ := strconv.ParseFloat(m[1], 64)
		if m[2] == "ms" {
			at /= 1000
		}
		if at > 3 {
			good, worst = 0, 0
			return fmt.Sprintf("%.2f s behind", at)
		}
		worst = max(worst, at)
		if good++; good < 50 {
			return fmt.Sprintf("%d looks so far", good)
		}
		return ""
	})
	t.Logf("at most %.2f s behind", worst)
}
