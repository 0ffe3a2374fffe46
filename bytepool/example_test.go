package bytepool_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sluice-go/sluice/bytepool"
)

func Example() {
	pool := bytepool.NewBytePool(0, 1024)

	b := pool.Get()
	b = append(b, "a line of text"...)
	fmt.Printf("%s: %d of %d bytes\n", b, len(b), cap(b))
	fmt.Println("taken back:", pool.Put(b))

	b = append(pool.Get(), make([]byte, 2000)...)
	fmt.Println("outgrown, taken back:", pool.Put(b))
	// Output:
	// a line of text: 14 of 1024 bytes
	// taken back: true
	// outgrown, taken back: false
}

func ExampleBufferPool() {
	pool := bytepool.NewBufferPool(512, 16<<10)

	buf := pool.Get()
	defer pool.Put(buf)
	fmt.Fprintf(buf, "%d bottles", 99)
	fmt.Println(buf)
	// Output: 99 bottles
}

func ExampleByteFixPool() {
	pool := bytepool.NewByteFixPool(1, 4, 4)

	first, second := pool.Get(), pool.Get()
	fmt.Println(pool.Put(first), pool.Put(second))
	// Output: true false
}

func ExampleBudgetPool() {
	pool := bytepool.NewBudgetPool(64<<10, 32<<10, 32<<10)

	receive := func(r io.Reader) error {
		b, err := pool.TryGet()
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		defer pool.Put(b)
		n, err := r.Read(b)
		fmt.Printf("%q, %v\n", b[:n], err)
		return nil
	}
	receive(strings.NewReader("hello"))

	pool.TryGet()
	pool.TryGet()
	err := receive(strings.NewReader("too many at once"))
	fmt.Println(err)
	fmt.Println(errors.Is(err, bytepool.ErrBudget))
	// Output:
	// "hello", <nil>
	// receive: bytepool: budget used up: 32768 bytes wanted, 65536 lent, 65536 allowed
	// true
}
