//go:build linux

package realtest

import (
	_ "embed"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// glassScript publishes a picture of the clock and reads it from what is played.
//
//go:embed testdata/glass.js
var glassScript string

// How long it takes from a clock drawn in one page, encoded there and published by WHIP,
// until the page's player by WHEP shows that time: both are in one browser and read one
// clock.
func TestGlassToGlassDelays(t *testing.T) {
	long(t, "what a busy machine delays says little")
	const pictures, most = 300, 300.0 // most: ms
	for _, codec := range []string{"H264", "VP9", "AV1"} {
		t.Run(codec, func(t *testing.T) {
			s := serve(t, options{})
			ctx, _, faults := browse(t)
			if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate("http://"+s.HTTP+"/?stream=live/clock"), chromedp.WaitReady(chromedp.CSS("#video"))); err != nil {
				t.Fatal(err)
			}
			evaluate[bool](t, ctx, glassScript+`; true`)
			if !evaluate[bool](t, ctx, `glass.encodes("`+codec+`")`) {
				t.Skip("this browser does not encode " + codec)
			}
			evaluate[bool](t, ctx, `(glass.publish("/live/clock/whip", "`+codec+`"), true)`)
			s.awaitLive(t, "live/clock")
			evaluate[bool](t, ctx, `(() => {
				const e = document.getElementById("transport");
				e.value = "whep";
				return e.dispatchEvent(new Event("change", {bubbles: true}));
			})()`)
			type state struct {
				Delays     []float64 `json:"delays"` // ms
				Unreadable int       `json:"unreadable"`
				Failure    string    `json:"failure"`
				Codec      string    `json:"codec"`
			}
			await := func(n int) (now state) {
				eventually(t, lengthened(time.Minute), func() string {
					if now = evaluate[state](t, ctx, `glass.state()`); now.Failure != "" || len(now.Delays) < n {
						return fmt.Sprintf("%d pictures read and %d not, want %d; %s; %s", len(now.Delays), now.Unreadable, n, now.Failure, said(t, ctx))
					}
					return ""
				})
				return now
			}
			await(60) // while the encoder finds its rate
			evaluate[bool](t, ctx, `(glass.restart(), true)`)
			took := await(pictures)
			slices.Sort(took.Delays)
			p50, p99 := took.Delays[len(took.Delays)/2], took.Delays[len(took.Delays)*99/100]
			t.Logf("%s: p50 %.0f ms, p99 %.0f ms, from %.0f to %.0f; %d pictures, %d more not readable",
				took.Codec, p50, p99, took.Delays[0], took.Delays[len(took.Delays)-1], len(took.Delays), took.Unreadable)
			if measured() && p50 > most {
				t.Errorf("the limit is %.0f ms", most)
			}
			if f := faults(); len(f) > 0 {
				t.Errorf("the page fails with %q", f)
			}
		})
	}
}
