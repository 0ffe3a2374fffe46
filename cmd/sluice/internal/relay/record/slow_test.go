package record

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// A disk that hangs delays neither the publisher nor what it sends on: the
// recording lacks frames, says how many, and goes on at a key frame.
func TestSlowDiskDoesNotDelayTheStream(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	hub := live.NewHub(live.HubOptions{Stream: live.StreamOptions{GOPBytes: 256 << 10, GOPFrames: 200, Backlog: time.Nanosecond}})
	defer hub.Close()
	p, err := hub.Publish("live/s", live.PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tags, err := p.Stream().NewReader(live.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	hangs := make(chan struct{})
	wakes := make(chan struct{})
	var once sync.Once
	f := &recFault{room: -1, onWrite: func() {
		once.Do(func() {
			close(hangs)
			<-wakes
		})
	}}
	r, _ := recNew(t, nil)
	r.create = func(string) (File, error) { return f, nil }
	done := make(chan error)
	go func() {
		err := r.Record(context.Background(), "live/s", tags)
		tags.Close() // before it is looked for what is left
		done <- err
	}()
	sent := 0
	publish := func(tag recTag) {
		t.Helper()
		if err := p.Publish(live.Frame{Type: tag.Type, Time: tag.Time, Payload: mem.Wrap([]byte(tag.Body), nil)}); err != nil {
			t.Fatal(err)
		}
		sent++
	}
	publish(recVideo(0, recConfig))
	publish(recVideo(0, recKey+"1"))
	select {
	case <-hangs:
	case <-time.After(20 * time.Second):
		t.Fatal("nothing is written")
	}
	for i := range uint32(5000) {
		head := recInter
		if i%50 == 49 {
			head = recKey
		}
		publish(recVideo(i*2, recBig(head, 1000)))
	}
	close(wakes)
	for before := r.Stats().Bytes; r.Stats().Bytes < before+100_000; {
		publish(recVideo(uint32(sent)*2, recBig(recKey, 1000)))
		if sent > 10_000_000 {
			t.Fatal("the recording does not go on")
		}
	}
	p.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	_, got := recRead(t, f.data)
	dropped := int(r.Stats().Dropped)
	t.Logf("%d tags of %d in the file, %d dropped", len(got), sent, dropped)
	if dropped == 0 || len(got)+dropped != sent {
		t.Errorf("%d tags in the file and %d dropped are not the %d that were sent", len(got), dropped, sent)
	}
	key := false
	for i, tag := range got[1:] {
		v, err := flv.ParseVideo([]byte(tag.Body))
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && tag.Time != got[i].Time+2 && !v.Key() {
			t.Errorf("after %d ms the file goes on at %d ms, without a key frame", got[i].Time, tag.Time)
		}
		key = key || v.Key()
	}
	if !key {
		t.Error("there is no key frame")
	}
}

// A disk that hangs while a file is created keeps those waiting who write, and not those who ask what is written: a list
// of recordings does, which publishers wait for.
func TestADiskThatHangsHoldsUpWhoWritesAlone(t *testing.T) {
	r, _ := recNew(t, nil)
	hangs, wakes := make(chan string), make(chan struct{})
	r.create = func(name string) (File, error) {
		hangs <- name
		<-wakes
		return nil, os.ErrPermission
	}
	done := make(chan error)
	go func() {
		done <- r.Record(context.Background(), "live/s", &recSource{batches: [][]recTag{{recVideo(0, recConfig), recVideo(0, recKey)}}})
	}()
	name := <-hangs
	answer := make(chan bool)
	go func() { answer <- r.Open(name) }()
	select {
	case open := <-answer:
		if !open {
			t.Error("a file that is being created counts as one that has ended")
		}
	case <-time.After(20 * time.Second):
		t.Error("it waits for the disk")
		defer func() { <-answer }()
	}
	close(wakes)
	if err := <-done; !errors.Is(err, os.ErrPermission) {
		t.Errorf("the recording: %v", err)
	}
	if r.Open(name) {
		t.Error("a file that could not be created is open")
	}
}
