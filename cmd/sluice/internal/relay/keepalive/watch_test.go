package keepalive

import (
	"io"
	"net/http"
	"testing"
	"time"
)

// A request whose client leaves ends, also when that closes its side alone, as with net/http.
func TestClientThatLeaves(t *testing.T) {
	for name, leave := range map[string]func(*client){
		"all":      func(c *client) { c.Close() },
		"one side": func(c *client) { c.Conn.(interface{ CloseWrite() error }).CloseWrite() },
	} {
		began := make(chan struct{})
		f := begin(t, func(w http.ResponseWriter, r *http.Request) {
			close(began)
			<-r.Context().Done()
		}, func(o *Options) { o.Watch = time.Millisecond })
		c := dial(t, f.at)
		c.send(t, request, false)
		select {
		case <-began:
		case <-time.After(testWait):
			t.Fatal(name, ": no request")
		}
		leave(c)
		wait(t, f.kept)
	}
}

// A request may be served for longer than its header may take, also while its client is watched.
func TestAnswersThatTakeLongerThanHeaders(t *testing.T) {
	f := begin(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
			t.Error("the request was ended")
		case <-time.After(100 * time.Millisecond):
		}
		io.WriteString(w, "late")
	}, func(o *Options) { o.Watch, o.Header = 1, 30*time.Millisecond })
	c := dial(t, f.at)
	c.send(t, request, false)
	if _, body := c.answer(t, "GET"); body != "late" {
		t.Errorf("%q", body)
	}
	f.kept.Drain() // which finds it idle, or about to be: its watch has ended
	wait(t, f.kept)
}

// What comes while a request is served is answered behind it, and ends nothing.
func TestRequestsThatComeWhileOneIsServed(t *testing.T) {
	for _, watch := range []time.Duration{1, time.Millisecond, testWait} {
		next := make(chan struct{})
		f := begin(t, func(w http.ResponseWriter, r *http.Request) {
			<-next
			if err := r.Context().Err(); err != nil {
				t.Error(err)
			}
			io.WriteString(w, r.URL.RawQuery)
		}, func(o *Options) { o.Watch = watch })
		for range 50 {
			c := dial(t, f.at) // pipelined requests go to net/http
			for _, ahead := range []string{"", "GET /m?b HTTP/1.1\r\nHost: x\r\n\r\n", "GET /m?b HTTP/1.1\r\nHost: x\r\n\r\nGET /other?c HTTP/1.1\r\nHost: x\r\n\r\n"} {
				c.send(t, "GET /m?a HTTP/1.1\r\nHost: x\r\n\r\n", false)
				c.send(t, ahead, false)
				want := []string{"a", "b", "c"}[:1+len(ahead)/30]
				for _, w := range want {
					next <- struct{}{}
					if _, body := c.answer(t, "GET"); body != w {
						t.Fatalf("%q, want %q", body, w)
					}
				}
			}
		}
	}
}
