package relay

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"testing"
	"time"
)

// The floor knows one stream: a crowd of one stream with its viewer goes through it.
func TestACrowdCountsBothSides(t *testing.T) {
	addr := startFloor(t, RTMP, 0)
	in, ask := io.Pipe()
	out, says := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := RunCrowd(in, says)
		says.CloseWithError(err)
		done <- err
	}()
	go json.NewEncoder(ask).Encode(Crowd{
		Publish: addr, View: addr, App: "live", Streams: 1, Viewed: true, Frame: 700, Every: 10 * time.Millisecond,
		Warm: 50 * time.Millisecond, Window: 500 * time.Millisecond, Server: os.Getpid(),
	})
	answers := bufio.NewReader(out)
	if line, err := answers.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	var r CrowdResult
	if err := json.NewDecoder(answers).Decode(&r); err != nil {
		t.Fatal(err)
	}
	ask.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if r.Published < 40 || r.Delivered < r.Published/2 || r.Delivered > r.Published+20 || r.Lost != 0 || r.CPU <= 0 {
		t.Errorf("%+v", r)
	}
}

func TestACrowdOfNothingIsRefused(t *testing.T) {
	for _, work := range []string{"", "{}\n", "no JSON\n", `{"Streams":1,"Frame":5,"Every":1,"Window":1}` + "\n"} {
		in, w := io.Pipe()
		go func() {
			io.WriteString(w, work)
			w.Close()
		}()
		if err := RunCrowd(in, io.Discard); err == nil {
			t.Errorf("%q is done", work)
		}
	}
}
