package record_test

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

func Example() {
	dir, err := os.MkdirTemp("", "recordings")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	recorder, err := record.New(record.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer recorder.Close()

	hub := live.NewHub(live.HubOptions{})
	publisher, err := hub.Publish("live/s", live.PublishOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	tags, err := publisher.Stream().NewReader(live.ReaderOptions{FromStart: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tags.Close()
	sound := mem.Wrap([]byte("\x2fan MP3 frame"), nil)
	if err := publisher.Publish(live.Frame{Type: flv.TagAudio, Payload: sound}); err != nil {
		fmt.Println(err)
	}
	hub.Close()

	// Until the stream has ended, which it has.
	if err := recorder.Record(context.Background(), "live/s", tags); err != nil {
		fmt.Println(err)
	}
	names, err := fs.Glob(os.DirFS(dir), "live/*.flv")
	if err != nil || len(names) != 1 {
		fmt.Println(names, err)
		return
	}
	fmt.Println(strings.HasPrefix(names[0], "live/s-"), recorder.Stats().Bytes)
	// Output: true 41
}
