// Package sinktest breaks files as disks and people do, for tests of what a store makes
// of it.
package sinktest

import (
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
	names, sizes := files(t, dir, wanted)
	total := 0
	for _, n := range sizes {
		total += n
	}
	// By size, but a short file is not forgotten.
	at, pick := r.IntN(total), r.IntN(len(names))
	if r.IntN(4) > 0 {
		for pick = 0; at >= sizes[pick]; pick++ {
			at -= sizes[pick]
		}
	}
	name := names[pick]
	old, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for {
		b, what := change(r, append([]byte(nil), old...))
		if string(b) == string(old) {
			continue
		}
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s of %s", what, name)
	}
}

func change(r *rand.Rand, b []byte) ([]byte, string) {
	n := len(b)
	// Pages of the file, and short ones for short files.
	size := page
	if n < 4*page || r.IntN(2) == 0 {
		size = max(1, min(512, n/8))
	}
	at := func() int { return r.IntN(max(1, n/size)) * size }
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
		from := at()
		clear(b[from:min(n, from+size)])
		return b, fmt.Sprintf("zeroed page of %d bytes at %d", size, from)
	case 4:
		from, to := at(), at()
		copy(b[to:min(n, to+size)], b[from:min(n, from+size)])
		return b, fmt.Sprintf("duplicated page of %d bytes at %d to %d", size, from, to)
	}
	from, to := at(), at()
	x := append([]byte(nil), b[from:min(n, from+size)]...)
	copy(b[from:min(n, from+size)], b[to:min(n, to+size)])
	copy(b[to:min(n, to+size)], x)
	return b, fmt.Sprintf("swapped pages of %d bytes at %d and %d", size, from, to)
}

func files(t testing.TB, dir string, wanted func(string) bool) (names []string, sizes []int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !wanted(d.Name()) {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Size() > 0 {
			names, sizes = append(names, path), append(sizes, int(info.Size()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names, sizes
}
