package verify_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluice-go/sluice/lab/internal/sink/acked"
	"github.com/sluice-go/sluice/lab/internal/sink/verify"
	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

func Example() {
	dir, err := os.MkdirTemp("", "records")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	log, _, _ := wal.Open(dir, wal.Options{})
	log.AppendBatch([][]byte{[]byte("one")})
	log.Close()

	acks := filepath.Join(dir, "acks")
	file, _ := os.Create(acks)
	w := acked.NewWriter(file)
	w.Append(1, verify.Sum([]byte("one")), 3)
	w.Append(2, verify.Sum([]byte("two")), 3)
	w.Flush()
	file.Close()

	result, err := verify.Check(context.Background(), []string{dir}, acks)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Logs[0].Records, "record; found", result.Acked.Found, "missing", result.Acked.FirstMissing)
	// Output: 1 record; found 1 missing [2]
}
