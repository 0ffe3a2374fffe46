package abuse_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/sluicetest/abuse"
)

// A fake is a relay of FLV over HTTP that does what a test wants wrong.
type fake struct {
	lose  int  // every frame of this number that there is a viewer for is not passed on
	alter int  // every one of this number is changed
	end   int  // after so many frames a viewer is disconnected
	hold  int  // after so many frames a viewer gets no more
	hang  bool // requests for other streams are never answered

	mu      sync.Mutex
	viewers map[string]map[chan []byte]bool
	kept    []net.Conn
	wrong   bool          // it has done what is wrong
	since   int           // frames that have come since then
	noticed chan struct{} // closed when they are enough; before that no other request is answered
}

// enough frames behind a wrong one: the publisher knows that it has sent a later one.
const enough = 5

// serve runs f until the test ends.
func (f *fake) serve(t *testing.T) (address string) {
	t.Helper()
	f.viewers = map[string]map[chan []byte]bool{}
	f.noticed = make(chan struct{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: f, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		<-served
		for _, c := range f.kept {
			_ = c.Close()
		}
	})
	return "http://" + l.Addr().String() + "/live"
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	stream := r.URL.Path
	switch {
	case !strings.HasPrefix(stream, "/live/healthy"):
		if f.hang {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				f.mu.Lock()
				f.kept = append(f.kept, conn)
				f.mu.Unlock()
			}
			return
		}
		if f.lose > 0 || f.alter > 0 || f.end > 0 || f.hold > 0 {
			select {
			case <-f.noticed:
			case <-r.Context().Done():
			}
		}
		http.NotFound(w, r)
	case r.Method == http.MethodPost:
		f.publish(stream, r)
	default:
		f.play(stream, w, r)
	}
}

func (f *fake) publish(stream string, r *http.Request) {
	in := sluice.NewBufReader(r.Body)
	defer in.Recycle()
	d := flv.NewDecoder(in)
	if _, err := d.ReadHeader(); err != nil {
		return
	}
	for n := 0; ; {
		tag, err := d.Next()
		if err != nil {
			return
		}
		h := tag.Header()
		b := append(h.Append(nil), tag.Payload.Bytes()...)
		b = append(b, byte(len(b)>>24), byte(len(b)>>16), byte(len(b)>>8), byte(len(b)))
		tag.Release()
		f.mu.Lock()
		viewers := f.viewers[stream]
		if len(viewers) > 0 {
			n++
		}
		lost := f.lose > 0 && n > 0 && n%f.lose == 0
		if f.alter > 0 && n > 0 && n%f.alter == 0 {
			b[len(b)-10] ^= 1
			f.wrong = true
		}
		for v := range viewers {
			if !lost {
				v <- b
			}
		}
		if f.wrong {
			if f.since++; f.since == enough {
				close(f.noticed)
			}
		}
		f.wrong = f.wrong || lost
		f.mu.Unlock()
	}
}

func (f *fake) play(stream string, w http.ResponseWriter, r *http.Request) {
	frames := make(chan []byte, 10_000)
	f.mu.Lock()
	if f.viewers[stream] == nil {
		f.viewers[stream] = map[chan []byte]bool{}
	}
	f.viewers[stream][frames] = true
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.viewers[stream], frames)
		f.mu.Unlock()
	}()
	_, _ = w.Write([]byte{'F', 'L', 'V', 1, 1, 0, 0, 0, 9, 0, 0, 0, 0})
	for n := 1; ; n++ {
		select {
		case b := <-frames:
			if f.hold > 0 && n > f.hold || f.end > 0 && n > f.end {
				f.mu.Lock()
				f.wrong = true
				f.mu.Unlock()
			}
			if f.hold > 0 && n > f.hold {
				continue
			}
			if _, err := w.Write(b); err != nil || http.NewResponseController(w).Flush() != nil || f.end > 0 && n > f.end {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

// some are a few cases that are over soon.
var some = regexp.MustCompile("^HTTP-R-0[2-6]$")

func run(t *testing.T, address string, o abuse.Options) *abuse.Report {
	t.Helper()
	report, err := abuse.Run(t.Context(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestServerThatDoesEverythingRight(t *testing.T) {
	f := &fake{}
	r := run(t, f.serve(t), abuse.Options{Run: some, Within: time.Minute})
	if len(r.Results) != 5 || !r.Passed() {
		t.Errorf("%+v", r)
	}
	if len(r.NotLookedAt) != 1 || !strings.Contains(r.NotLookedAt[0], "no process was named") {
		t.Errorf("not looked at: %q", r.NotLookedAt)
	}
}

// What goes wrong around the cases is found, with what it was.
func TestHealthyStreamThatBreaksIsFound(t *testing.T) {
	for _, c := range []struct {
		server *fake
		want   string
	}{
		{&fake{lose: 40}, "came after"},
		{&fake{alter: 40}, "is not what was published"},
		{&fake{end: 40}, "viewer, after frame"},
		{&fake{hold: 40}, "was published the viewer had"},
	} {
		r := run(t, c.server.serve(t), abuse.Options{Run: regexp.MustCompile("^a stream that is not there$"), Within: 10 * time.Second})
		if r.Passed() || len(r.Problems) == 0 || !strings.Contains(r.Problems[0], c.want) || !strings.Contains(r.Problems[0], "HTTP-R-") {
			t.Errorf("want %q, got %q", c.want, r.Problems)
		}
	}
}

func TestSilenceIsFound(t *testing.T) {
	f := &fake{hang: true}
	r := run(t, f.serve(t), abuse.Options{Run: regexp.MustCompile("^an unknown method$"), Within: 100 * time.Millisecond})
	failed := r.Failed()
	if len(failed) != 1 || failed[0].Seen != "no answer and not closed" {
		t.Errorf("%+v", r)
	}
}

func TestDescriptorsThatStayAreFound(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	f := &fake{hang: true}
	o := abuse.Options{Run: regexp.MustCompile("^an unknown method$"), Within: 50 * time.Millisecond, Settle: 500 * time.Millisecond, PID: os.Getpid()}
	r := run(t, f.serve(t), o)
	// On a busy machine its healthy stream may be late, too.
	if !slices.ContainsFunc(r.Problems, func(p string) bool { return strings.Contains(p, "descriptors, and") }) {
		t.Errorf("%q", r.Problems)
	}
}

func TestInterruption(t *testing.T) {
	f := &fake{}
	address := f.serve(t)
	ctx, stop := context.WithCancel(t.Context())
	o := abuse.Options{Parallel: 1, Progress: func(abuse.Result) { stop() }}
	r, err := abuse.Run(ctx, address, o)
	if err != nil || len(r.NotLookedAt) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	all, err := abuse.CasesFor(address)
	if err != nil || len(r.Results) >= len(all) {
		t.Errorf("%d cases were run of %d, %v", len(r.Results), len(all), err)
	}
}

func TestTargets(t *testing.T) {
	for _, address := range []string{"", "rtmp://", "rtmp://127.0.0.1", "ftp://127.0.0.1/live", "127.0.0.1/live", "http://127.0.0.1/", "http://[::1/live"} {
		if _, err := abuse.Run(t.Context(), address, abuse.Options{}); !errors.Is(err, abuse.ErrTarget) {
			t.Errorf("%q: %v", address, err)
		}
	}
	for _, address := range []string{"rtmp://192.0.2.1/live", "http://198.51.100.7:8080/live", "http://[2001:db8::1]/live", "rtmp://0.0.0.0/live"} {
		if _, err := abuse.Run(t.Context(), address, abuse.Options{}); !errors.Is(err, abuse.ErrAddress) {
			t.Errorf("%q: %v", address, err)
		}
		f := &fake{}
		if _, err := abuse.Run(t.Context(), f.serve(t), abuse.Options{Publish: address}); !errors.Is(err, abuse.ErrAddress) {
			t.Errorf("publishing to %q: %v", address, err)
		}
	}
	if _, err := abuse.Run(t.Context(), "rtmp://"+loopback.Free(t)+"/live", abuse.Options{}); err == nil || errors.Is(err, abuse.ErrTarget) {
		t.Errorf("no server: %v", err)
	}
}

func TestCases(t *testing.T) {
	ids := map[string]bool{}
	for address, atLeast := range map[string]int{"rtmp://127.0.0.1/live": 300, "http://127.0.0.1/live": 100} {
		cases, err := abuse.CasesFor(address)
		if err != nil || len(cases) < atLeast {
			t.Errorf("%s: %d cases, %v", address, len(cases), err)
		}
		titles := map[string]string{}
		for _, c := range cases {
			if ids[c.ID] || c.Title == "" || c.Clause == "" || c.Expect == 0 {
				t.Errorf("%+v", c)
			}
			if other := titles[c.Title]; other != "" {
				t.Errorf("%s and %s are both %q", other, c.ID, c.Title)
			}
			ids[c.ID], titles[c.Title] = true, c.ID
		}
	}
}

func TestReports(t *testing.T) {
	r := &abuse.Report{
		Target: "rtmp://127.0.0.1/live", Took: time.Second, Problems: []string{"the stream\x01 broke"},
		Results: []abuse.Result{
			{Case: abuse.Case{ID: "B-02", Title: "two <&\x00>", Clause: "5.2", Expect: abuse.Closed}, Seen: "served", Note: "200 OK"},
			{Case: abuse.Case{ID: "A-01", Title: "one", Expect: abuse.Served}, Seen: "served", Passed: true},
		},
	}
	var text, junit, all bytes.Buffer
	if err := errors.Join(r.WriteText(&text), r.WriteJUnit(&junit), r.WriteJSON(&all)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"B-02", "want: closed   seen: served", "200 OK", "problem: the stream", "1 of 2 cases as expected, 1 problems"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	var suite struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Cases    []struct {
			Name    string    `xml:"name,attr"`
			Failure *struct{} `xml:"failure"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal(junit.Bytes(), &suite); err != nil || suite.Tests != 3 || suite.Failures != 2 || len(suite.Cases) != 3 || suite.Cases[1].Failure == nil || suite.Cases[0].Failure != nil {
		t.Errorf("%+v, %v", suite, err)
	}
	var object struct {
		Passed  bool
		Results []struct{ ID, Expected, Seen string }
	}
	if err := json.Unmarshal(all.Bytes(), &object); err != nil || object.Passed || len(object.Results) != 2 || object.Results[1].Expected != "closed" {
		t.Errorf("%+v, %v", object, err)
	}
}

// A server that is not there, or is another one, is said to be that: no stream broke.
func TestNoStreamCanBegin(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("220 mail.example.com ESMTP\r\n"))
			_ = conn.Close()
		}
	}()
	for _, address := range []string{"rtmp://127.0.0.1:1/live", "http://127.0.0.1:1/live", "rtmp://" + l.Addr().String() + "/live"} {
		_, err := abuse.Run(t.Context(), address, abuse.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "abuse: no healthy stream can begin: ") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func ExampleRun() {
	report, err := abuse.Run(context.Background(), "rtmp://127.0.0.1:1/live", abuse.Options{})
	if err != nil {
		fmt.Println("no server there")
		return
	}
	fmt.Println(report.Passed())
	// Output: no server there
}
