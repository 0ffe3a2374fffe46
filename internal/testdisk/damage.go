// Package testdisk has directories for tests of what is stored, and breaks the files in
// them as disks and people do.
package testdisk

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

const page = 4096

// Damage breaks one file under dir, of those whose name is wanted, by chance, and says
// how. The file has other bytes afterwards.
func Damage(t testing.TB, r *rand.Rand, dir string, wanted func(name string) bool) string {
	t.Helper()
	var names, pages []string // pages has a file for each of its pages
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !wanted(d.Name()) {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Size() > 0 {
			names = append(names, path)
			for range 1 + info.Size()/page {
				pages = append(pages, path)
			}
		}
		return err
	})
	// By size, but a short file is not forgotten.
	if r.IntN(4) > 0 {
		names = pages
	}
	name := names[r.IntN(len(names))]
	old, readErr := os.ReadFile(name)
	for err == nil && readErr == nil {
		b, what := change(r, bytes.Clone(old))
		if bytes.Equal(b, old) {
			continue
		}
		if err = os.WriteFile(name, b, 0o644); err == nil {
			return fmt.Sprintf("%s of %s", what, name)
		}
	}
	t.Fatal(err, readErr)
	return ""
}

// change flips a bit, cuts the end off, or moves pages, short ones in short files.
func change(r *rand.Rand, b []byte) ([]byte, string) {
	n := len(b)
	size := page
	if n < 4*page || r.IntN(2) == 0 {
		size = max(1, min(512, n/8))
	}
	pageAt := func() ([]byte, int) {
		at := r.IntN(max(1, n/size)) * size
		return b[at:min(n, at+size)], at
	}
	from, at := pageAt()
	to, other := pageAt()
	switch r.IntN(6) {
	case 0, 1:
		bit := r.IntN(8 * n)
		b[bit/8] ^= 1 << (bit % 8)
		return b, fmt.Sprintf("bit %d flipped", bit)
	case 2:
		cut := 1 + r.IntN(n)
		if r.IntN(2) == 0 {
			cut = 1 + r.IntN(min(n, 600))
		}
		return b[:n-cut], fmt.Sprintf("cut by %d bytes", cut)
	case 3:
		clear(from)
		return b, fmt.Sprintf("zeroed page of %d bytes at %d", size, at)
	case 4:
		copy(to, from)
		return b, fmt.Sprintf("duplicated page of %d bytes at %d to %d", size, at, other)
	}
	was := bytes.Clone(from)
	copy(from, to)
	copy(to, was)
	return b, fmt.Sprintf("swapped pages of %d bytes at %d and %d", size, at, other)
}
