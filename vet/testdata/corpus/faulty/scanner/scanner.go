// Package scanner misuses what a bufio.Scanner lends.
package scanner

import (
	"bufio"
	"bytes"
	"io"
	"sort"
)

type index struct {
	keys  [][]byte
	byKey map[string][]byte
	min   []byte
}

func words(r io.Reader) [][]byte {
	sc := bufio.NewScanner(r)
	sc.Split(bufio.ScanWords)
	var list [][]byte
	for sc.Scan() {
		list = append(list, sc.Bytes())
	}
	sort.Slice(list, func(i, j int) bool { return bytes.Compare(list[i], list[j]) < 0 }) // want `used after Scanner.Scan`
	return list                                                                          // want `returned after Scanner.Scan`
}

func (x *index) load(r io.Reader) error {
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		k, v, _ := bytes.Cut(sc.Bytes(), []byte("="))
		x.byKey[string(k)] = v // want `stored in a map`
	}
	return sc.Err()
}

func (x *index) smallest(sc *bufio.Scanner) {
	for sc.Scan() {
		if line := sc.Bytes(); x.min == nil || bytes.Compare(line, x.min) < 0 { // want `used after Scanner.Scan`
			x.min = line // want `stored in the field min`
		}
	}
}

func duplicates(sc *bufio.Scanner) (n int) {
	var last []byte
	for sc.Scan() {
		if bytes.Equal(sc.Bytes(), last) { // want `used after Scanner.Scan`
			n++
		}
		last = sc.Bytes()
	}
	return n
}

func pairs(sc *bufio.Scanner, f func(k, v []byte)) {
	for sc.Scan() {
		k := sc.Bytes()
		if !sc.Scan() {
			return
		}
		f(k, sc.Bytes()) // want `used after Scanner.Scan`
	}
}

func feed(sc *bufio.Scanner, to chan []byte) {
	defer close(to)
	for sc.Scan() {
		to <- sc.Bytes() // want `stored in a channel`
	}
}

func header(sc *bufio.Scanner) (title string, fields int) {
	if !sc.Scan() {
		return "", 0
	}
	title0 := bytes.TrimSpace(sc.Bytes())
	for sc.Scan() {
		fields++
	}
	return string(title0), fields // want `used after Scanner.Scan`
}

func longest(r io.Reader) []byte {
	var best []byte
	for sc := bufio.NewScanner(r); sc.Scan(); {
		if b := sc.Bytes(); len(b) > len(best) {
			best = b
		}
	}
	return best // want `returned after Scanner.Scan`
}
