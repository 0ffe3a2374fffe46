package mem_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sluice-go/sluice/mem"
)

// A frame is received once and handed to three keepers, who let it go when
// they like. Nothing is copied, and the last one sends the memory home.
func Example() {
	alloc := mem.New(mem.Options{Name: "frames"})

	frame := alloc.Get(2048) // retained: ours until Release
	n := copy(frame.Bytes(), "a frame from the network")

	var keepers [3]mem.Buf
	view := frame.RetainedSlice(0, n)
	view.Share(keepers[:]) // one atomic operation for all three
	view.Release()
	frame.Release()

	var work sync.WaitGroup
	lengths := make([]int, len(keepers))
	for i := range keepers {
		work.Go(func() {
			defer keepers[i].Release()
			lengths[i] = len(keepers[i].Bytes())
		})
	}
	work.Wait()
	fmt.Println(lengths, alloc.Stats().CheckedOut)
	// Output: [24 24 24] 0
}

// A reader fills a block from the front and cuts frames out of it. The frames
// outlive the slab; while there are any, its filled part is not written again.
func ExampleSlab() {
	input := strings.NewReader("3one3two5three")

	slab := mem.Default().Slab(4096)
	n, err := input.Read(slab.Bytes())
	if err != nil {
		fmt.Println(err)
		return
	}
	var frames []mem.Buf
	for i := 0; i < n; {
		length := int(slab.Bytes()[i] - '0')
		frames = append(frames, slab.Cut(i+1, length))
		i += 1 + length
	}
	fmt.Println("shared:", slab.Shared())
	slab.Release()

	for i := range frames {
		fmt.Printf("%s\n", frames[i].Bytes())
		frames[i].Release()
	}
	// Output:
	// shared: true
	// one
	// two
	// three
}

// With a budget a server refuses or waits, and does not grow without bound.
// What counts is capacity: 3000 bytes take a block of 4096.
func ExampleAllocator_GetContext() {
	alloc := mem.New(mem.Options{Name: "uploads", Budget: 8192})
	first, second := alloc.Get(3000), alloc.Get(3000)

	_, err := alloc.TryGet(100)
	fmt.Println(errors.Is(err, mem.ErrBudget), err)

	// GetContext waits until a release makes room, or until its context ends.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	go first.Release()
	third, err := alloc.GetContext(ctx, 100)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(third.Len())
	second.Release()
	third.Release()
	// Output:
	// true mem: budget of allocator "uploads": 256 bytes wanted, 8192 of 8192 in use
	// 100
}

// A message of several parts is written without putting them together, and
// read across their borders.
func ExampleMemory() {
	header := mem.Default().Get(2)
	copy(header.Bytes(), []byte{0, 7})
	message := mem.NewMemory(header, mem.Wrap([]byte("payload"), nil)) // both transferred
	defer message.Release()

	r := message.NewReader()
	length, err := r.ReadBE(2)
	fmt.Println(length, r.Length, err)
	r.ClipFront() // the header's memory goes home

	message.WriteTo(os.Stdout) // one writev on a TCP connection
	// Output:
	// 7 7 <nil>
	// payload
}

// Code that is written around plain slices can use the same memory.
func ExampleAllocator_Malloc() {
	alloc := mem.New(mem.Options{})
	p := alloc.Malloc(300)
	fmt.Println(len(p), cap(p))
	fmt.Println(alloc.Free(p))
	fmt.Println(alloc.Free(p))
	// Output:
	// 300 512
	// <nil>
	// mem: slice is not one that Malloc has out
}

// In tests and where leaks are looked for, every reference has the stack that
// took it.
func ExampleAllocator_Leaks() {
	alloc := mem.New(mem.Options{Leak: mem.LeakTrace})
	kept := alloc.Get(500)
	for _, leak := range alloc.Leaks() {
		line, _, _ := strings.Cut(strings.TrimSpace(leak.Stack), "\n")
		fmt.Println(leak.Size, line)
	}
	kept.Release()
	fmt.Println(len(alloc.Leaks()))
	// Output:
	// 500 github.com/sluice-go/sluice/mem_test.ExampleAllocator_Leaks
	// 0
}
