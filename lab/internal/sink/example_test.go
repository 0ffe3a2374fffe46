package sink_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/sluice-go/sluice/lab/internal/sink"
	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

func Example() {
	dir, err := os.MkdirTemp("", "records")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	log, _, err := wal.Open(dir, wal.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	store := sink.NewSync(log)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error)
	go func() { ended <- sink.NewServer(store, sink.Settings{}).Serve(ctx, listener) }()

	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	io.WriteString(conn, "\x00\x00\x00\x05hello\x00\x00\x00\x05world")
	for range 2 {
		var number uint64
		binary.Read(conn, binary.BigEndian, &number)
		fmt.Println("kept as", number)
	}
	conn.Close()

	stop()
	fmt.Println(<-ended, store.Close())
	// Output:
	// kept as 1
	// kept as 2
	// <nil> <nil>
}
