package live_test

import (
	"fmt"
	"io"
	"net"

	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// News lines for every client that connects: streaming without media.
func Example() {
	hub := live.NewHub(live.HubOptions{Stream: live.StreamOptions{Raw: true}})
	writer := live.NewWriter(live.WriterOptions{})
	news, err := hub.Publish("news", live.PublishOptions{Name: "editor"})
	if err != nil {
		fmt.Println(err)
		return
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer listener.Close()
	reader, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	conn, err := listener.Accept()
	if err != nil {
		fmt.Println(err)
		return
	}
	// From here on the connection is written to by writer alone.
	_, err = writer.Add(conn, news.Stream(), live.ViewerOptions{
		Form: live.FormRaw, FromStart: true, Trailer: []byte("that was the news\n"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	for _, line := range []string{"it rains\n", "it stops\n"} {
		payload := mem.Wrap([]byte(line), nil)
		if err := news.Publish(live.Frame{Payload: payload}); err != nil { // transferred
			fmt.Println(err)
			return
		}
	}
	news.Close()
	all, err := io.ReadAll(reader)
	fmt.Printf("%s%v\n", all, err)
	hub.Close()
	writer.Close()
	// Output:
	// it rains
	// it stops
	// that was the news
	// <nil>
}
