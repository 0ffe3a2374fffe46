// Package mem has the shape of the real one, for the corpus.
package mem

type Buffer interface {
	ReadOnlyData() []byte
	Ref()
	Free()
	Len() int
}

type BufferSlice []Buffer

func (s BufferSlice) Free()               {}
func (s BufferSlice) Ref()                {}
func (s BufferSlice) Materialize() []byte { return nil }

type BufferPool interface {
	Get(length int) *[]byte
	Put(*[]byte)
}

func NewBuffer(data *[]byte, pool BufferPool) Buffer { return nil }
func Copy(data []byte, pool BufferPool) Buffer       { return nil }
func DefaultBufferPool() BufferPool                  { return nil }
