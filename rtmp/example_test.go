package rtmp_test

import (
	"fmt"
	"net"
	"sync"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
)

// A server takes what a client publishes, over any connection.
func Example() {
	client, server := net.Pipe()
	go publish(client)

	r, w := sluice.NewBufReader(server), sluice.NewBufWriter(server)
	c := rtmp.NewConn(r, w, rtmp.Options{})
	defer server.Close()
	defer c.Recycle()
	if err := c.ServerHandshake(); err != nil {
		fmt.Println(err)
		return
	}
	req, err := c.ReadRequest()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v %s/%s, token %s\n", req.Kind, req.App, req.Stream, req.Query.Get("token"))
	if err := c.Accept(req); err != nil {
		fmt.Println(err)
		return
	}
	for {
		m, err := c.ReadMessage()
		if err != nil {
			fmt.Println(err)
			return
		}
		action := rtmp.None
		if m.Type == rtmp.TypeCommandAMF0 {
			action, err = c.Answer(m)
		} else {
			fmt.Printf("%v of %d bytes at %d ms\n", m.Type, m.Payload.Len(), m.Time)
		}
		m.Release()
		if err != nil || action == rtmp.Close {
			fmt.Println("over", err)
			return
		}
	}
	// Output:
	// publish live/s, token abc
	// video of 5 bytes at 40 ms
	// over <nil>
}

func publish(conn net.Conn) {
	c := rtmp.NewConn(sluice.NewBufReader(conn), sluice.NewBufWriter(conn), rtmp.Options{})
	var reading sync.WaitGroup
	defer func() {
		conn.Close()
		reading.Wait()
		c.Recycle()
	}()
	if err := c.ClientHandshake(); err != nil {
		fmt.Println(err)
		return
	}
	if err := c.Connect(rtmp.ConnectOptions{App: "live", TCURL: "rtmp://localhost/live"}); err != nil {
		fmt.Println(err)
		return
	}
	if err := c.Publish("s?token=abc"); err != nil {
		fmt.Println(err)
		return
	}
	// What the server says meanwhile has to be read.
	reading.Go(func() {
		for {
			m, err := c.ReadMessage()
			if err != nil {
				return
			}
			m.Release()
		}
	})
	payload := mem.Default().Get(5)
	copy(payload.Bytes(), "\x27\x01\x00\x00\x00")
	if err := c.WriteMessage(rtmp.Message{Type: rtmp.TypeVideo, StreamID: c.StreamID(), Time: 40, Payload: payload}); err != nil {
		fmt.Println(err)
		return
	}
	if err := c.Close(); err != nil {
		fmt.Println(err)
	}
}

// A message that goes to many is muxed once, and sent to each as it is.
func ExampleAppendChunkHeader() {
	body := []byte("a frame")
	out := rtmp.AppendChunkHeader(nil, rtmp.VideoChunkStream, rtmp.TypeVideo, 1, 40, len(body))
	for i := 0; i < len(body); i += 4 {
		if i > 0 {
			out = rtmp.AppendContinuation(out, rtmp.VideoChunkStream, 40)
		}
		out = append(out, body[i:min(i+4, len(body))]...)
	}
	fmt.Printf("% x\n", out)
	// Output: 06 00 00 28 00 00 07 09 01 00 00 00 61 20 66 72 c6 61 6d 65
}

func ExampleParseURL() {
	u, err := rtmp.ParseURL("rtmp://example.com/live/s?token=abc")
	fmt.Println(u.Host, u.App, u.Stream, u.Query.Get("token"), err)
	fmt.Println(u.TCURL(), u.Name())
	// Output:
	// example.com:1935 live s abc <nil>
	// rtmp://example.com:1935/live s?token=abc
}
