package wal_test

import (
	"fmt"
	"os"

	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

func Example() {
	dir, err := os.MkdirTemp("", "records")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	log, recovery, err := wal.Open(dir, wal.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("records that were there:", recovery.Last)
	first, err := log.AppendBatch([][]byte{[]byte("one"), []byte("two")})
	if err == nil {
		err = log.Sync() // now they outlive a power cut
	}
	fmt.Println("appended from", first, err)
	fmt.Println(log.Close())
	wal.Scan(dir, func(index uint64, record []byte) error {
		fmt.Printf("%d %s\n", index, record)
		return nil
	})
	// Output:
	// records that were there: 0
	// appended from 1 <nil>
	// <nil>
	// 1 one
	// 2 two
}
