package bytepool_test

import (
	"bytes"
	"testing"

	"github.com/sluice-go/sluice/bytepool"
)

// Each operation of the benchmarks in this file puts 64 blocks of 1 KiB one
// after the other, 64 KiB in all.
const blocks, blockSize = 64, 1024

var (
	block = bytes.Repeat([]byte("abcdefgh"), blockSize/8)

	// Results go through these, or the compiler would put what ought to be
	// allocated on the stack.
	sinkBytes  []byte
	sinkBuffer *bytes.Buffer
)

func start(b *testing.B) {
	b.Helper()
	b.SetBytes(blocks * blockSize)
	b.ReportAllocs()
}

func appendBlocks(s []byte) []byte {
	for range blocks {
		s = append(s, block...)
	}
	return s
}

func writeBlocks(buf *bytes.Buffer) {
	for range blocks {
		buf.Write(block)
	}
}

// BenchmarkByte appends to a slice without room reserved.
func BenchmarkByte(b *testing.B) {
	start(b)
	for b.Loop() {
		sinkBytes = appendBlocks(nil)
	}
}

// BenchmarkMake reserves the room each time.
func BenchmarkMake(b *testing.B) {
	start(b)
	for b.Loop() {
		sinkBytes = appendBlocks(make([]byte, 0, blocks*blockSize))
	}
}

func BenchmarkBytePool(b *testing.B) {
	start(b)
	pool := bytepool.NewBytePool(0, blocks*blockSize)
	for b.Loop() {
		sinkBytes = appendBlocks(pool.Get())
		pool.Put(sinkBytes)
	}
}

// BenchmarkBuffer writes to a new bytes.Buffer each time.
func BenchmarkBuffer(b *testing.B) {
	start(b)
	for b.Loop() {
		sinkBuffer = new(bytes.Buffer)
		writeBlocks(sinkBuffer)
	}
}

func BenchmarkBufferPool(b *testing.B) {
	start(b)
	pool := bytepool.NewBufferPool(blocks*blockSize, 2*blocks*blockSize)
	for b.Loop() {
		sinkBuffer = pool.Get()
		writeBlocks(sinkBuffer)
		pool.Put(sinkBuffer)
	}
}

func BenchmarkByteFixPool(b *testing.B) {
	start(b)
	pool := bytepool.NewByteFixPool(16, 0, blocks*blockSize)
	for b.Loop() {
		sinkBytes = appendBlocks(pool.Get())
		pool.Put(sinkBytes)
	}
}
