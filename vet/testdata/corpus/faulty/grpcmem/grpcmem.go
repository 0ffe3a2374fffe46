// Package grpcmem misuses the buffers of grpc.
package grpcmem

import (
	"errors"

	"google.golang.org/grpc/mem"
)

func afterFree(data []byte) byte {
	b := mem.Copy(data, mem.DefaultBufferPool())
	p := b.ReadOnlyData()
	b.Free()
	return p[0] // want `used after Buffer.Free`
}

func notFreed(data []byte, pool mem.BufferPool) (int, error) {
	b := mem.Copy(data, pool) // want `not released`
	if b.Len() == 0 {
		return 0, errors.New("empty")
	}
	n := b.Len()
	b.Free()
	return n, nil
}

func freedTwice(data *[]byte, pool mem.BufferPool) {
	b := mem.NewBuffer(data, pool)
	defer b.Free() // want `released twice`
	if b.Len() == 0 {
		b.Free()
	}
}

func returned(data []byte) []byte {
	b := mem.Copy(data, mem.DefaultBufferPool())
	defer b.Free()
	return b.ReadOnlyData() // want `returned after Buffer.Free`
}

func slice(s mem.BufferSlice) int {
	s.Free()
	return len(s[0].ReadOnlyData()) // want `used after BufferSlice.Free`
}

func pooled(pool mem.BufferPool, n int) []byte {
	b := pool.Get(n)
	defer pool.Put(b)
	return (*b)[:n] // want `returned after BufferPool.Put`
}
