package page_test

import (
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/page"
)

// The page learns from its server on which port RTMP is.
func ExampleHandler() {
	h := page.Handler(page.Options{RTMPAddr: "[::]:1935", Merge: 80 * time.Millisecond})

	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))

	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/assets/config.json", nil))
	fmt.Println(w.Body)
	// Output:
	// 200 text/html; charset=utf-8
	// {"rtmp_port":1935,"rtmps_port":0,"rtsp_port":0,"rtsps_port":0,"srt_port":0,"srt_encrypted":false,"hls":false,"webrtc":false,"merge_ms":80,"protect_publish":false,"protect_play":false,"cluster":false}
}
