package netsim_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"strings"
	"time"

	"github.com/sluice-go/sluice/netsim"
)

func Example() {
	const text = "bytes as a network brings them"
	r := netsim.NewReader(strings.NewReader(text), netsim.Condition{Name: "trickle", Min: 3, Max: 9}, 1)

	var got []byte
	p := make([]byte, 1024)
	for {
		n, err := r.Read(p)
		if n > 9 {
			log.Fatal("more than the condition allows")
		}
		got = append(got, p[:n]...)
		if err == io.EOF {
			break
		}
	}
	fmt.Println(string(got) == text)
	// Output: true
}

func ExampleLoop() {
	b, err := io.ReadAll(netsim.NewLoop([]byte("tick "), 12))
	fmt.Printf("%q %v\n", b, err)
	// Output: "tick tick ti" <nil>
}

func ExampleConn() {
	// A client behind a line of 64 KB/s that breaks after 12 bytes.
	client, server, err := netsim.TCPPipe(
		netsim.Options{Latency: time.Millisecond, In: netsim.Direction{Bandwidth: 64 << 10, ResetAfter: 12}},
		netsim.Options{},
	)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	defer server.Close()

	fmt.Fprint(server, "hello, world, and the rest")
	b, err := io.ReadAll(client)
	fmt.Printf("%q\n", b)
	fmt.Println(errors.Is(err, netsim.ErrReset))
	// Output:
	// "hello, world"
	// true
}
