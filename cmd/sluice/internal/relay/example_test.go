package relay_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

func Example() {
	settings := config.Default()
	settings.RTMP, settings.HTTP, settings.RTSP, settings.WebRTC, settings.SRT = "off", "127.0.0.1:0", "off", "off", "off"
	server, err := relay.New(settings, relay.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	if err := server.Listen(); err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- server.Serve(ctx) }()

	answer, err := http.Get("http://" + server.Addresses()["http"] + "/live/nothing.flv")
	if err != nil {
		panic(err)
	}
	text, _ := io.ReadAll(answer.Body)
	answer.Body.Close()
	fmt.Print(answer.Status, " ", string(text))

	stop()
	fmt.Println(<-served)
	// Output:
	// 404 Not Found {"error":"there is no such stream: live/nothing"}
	// <nil>
}
