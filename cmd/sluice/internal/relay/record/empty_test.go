package record

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
)

// Files begin in directories that are removed while they are empty.
func TestFilesBeginWhileDirectoriesAreDeleted(t *testing.T) {
	r, err := New(Options{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var over atomic.Bool
	result := make(chan error)
	go func() {
		var errs []error
		for i := range 2000 {
			f, err := r.create(fmt.Sprintf("a/b/%d", i))
			if err == nil {
				f.Close()
				err = r.Root().Remove(fmt.Sprintf("a/b/%d", i))
			}
			errs = append(errs, err)
		}
		over.Store(true)
		result <- errors.Join(errs...)
	}()
	for !over.Load() {
		if r.Root().Remove("a/b") == nil {
			_ = r.Root().Remove("a") // it may have another by now
		}
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
}
