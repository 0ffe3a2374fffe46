package consensus_test

import (
	"fmt"
	"os"

	"github.com/sluice-go/sluice/lab/internal/sink"
	"github.com/sluice-go/sluice/lab/internal/sink/consensus"
	"github.com/sluice-go/sluice/mem"
)

// Three nodes in one process, and one record in the log of each.
func Example() {
	dir, err := os.MkdirTemp("", "trio-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := consensus.Open(consensus.Options{Dir: dir, Trio: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	answered := make(chan struct{})
	record := mem.Wrap([]byte("a record"), nil)
	store.Append([]sink.Record{record}, func(first uint64, err error) {
		fmt.Println("record", first, err)
		close(answered)
	})
	<-answered
	if err := store.Close(); err != nil {
		fmt.Println(err)
	}
	// Output: record 1 <nil>
}
