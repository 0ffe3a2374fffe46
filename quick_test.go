package sluice

import (
	"bytes"
	"testing"
	"testing/iotest"
)

func TestQuick(t *testing.T) {
	data := make([]byte, 100_000)
	for i := range data {
		data[i] = byte(i * 7)
	}
	if err := iotest.TestReader(NewBufReader(bytes.NewReader(data)), data); err != nil {
		t.Fatal(err)
	}
	if err := iotest.TestReader(NewBufReader(iotest.OneByteReader(bytes.NewReader(data))), data); err != nil {
		t.Fatal(err)
	}
}
