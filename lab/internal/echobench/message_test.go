package echobench

import (
	"slices"
	"testing"
)

func mustMessage(t *testing.T, size int) message {
	t.Helper()
	m, err := newMessage(size, 7)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// sent is message number of m as it goes out.
func sent(m message, number int) []byte {
	m.stamp(number)
	return slices.Clone(m)
}

func TestAMessageMatchesItselfInAnyPieces(t *testing.T) {
	for _, size := range []int{minSize, 17, 128, careful, careful + 1, 64 << 10} {
		m := mustMessage(t, size)
		for _, number := range []int{0, 1, 15, 16, 1 << 30} {
			whole := sent(m, number)
			for _, step := range []int{1, 7, 100, size - 1, size} {
				if size/step > 5000 {
					continue
				}
				for off := 0; off < size; off += step {
					if end := min(off+step, size); !m.matches(number, off, whole[off:end]) {
						t.Fatalf("%d bytes, number %d: bytes %d to %d do not match", size, number, off, end)
					}
				}
			}
		}
	}
}

func TestAnyChangedByteOfAShortMessageIsSeen(t *testing.T) {
	m := mustMessage(t, 200)
	for at := range 200 {
		whole := sent(m, 3)
		whole[at] ^= 0x10
		if m.matches(3, 0, whole) {
			t.Errorf("byte %d is wrong and matches", at)
		}
	}
}

func TestALongMessageIsSampledInside(t *testing.T) {
	m := mustMessage(t, 64<<10)
	for number, want := range map[int]bool{1: true, 16: false, 32: false} {
		whole := sent(m, number)
		whole[30_000] ^= 1
		if got := m.matches(number, 0, whole); got != want {
			t.Errorf("number %d, wrong inside: matches %v", number, got)
		}
	}
	for _, at := range []int{0, ends - 1, 64<<10 - ends, 64<<10 - 1} {
		whole := sent(m, 1)
		whole[at] ^= 1
		if m.matches(1, 0, whole) {
			t.Errorf("byte %d is wrong and matches", at)
		}
	}
}

func TestMessagesOfOtherNumbersDoNotMatch(t *testing.T) {
	m := mustMessage(t, minSize)
	for number := range 300 {
		whole := sent(m, number)
		for other := range 300 {
			if m.matches(other, 0, whole) != (other == number) {
				t.Fatalf("message %d and number %d", number, other)
			}
			if other != number && m.matches(other, minSize-1, whole[minSize-1:]) && m.matches(other, 0, whole[:mark]) {
				t.Fatalf("the head of message %d is that of %d", number, other)
			}
		}
	}
}

func TestSumsTellHowManyMessages(t *testing.T) {
	seen := map[uint64]int{}
	for n := range 2000 {
		if m, twice := seen[Sum(n)]; twice {
			t.Fatalf("%d and %d messages have one sum", m, n)
		}
		seen[Sum(n)] = n
	}
	if Sum(0) != 0 || Sum(3) != mixed(0)+mixed(1)+mixed(2) {
		t.Error("the sum is not that of the numbers")
	}
}

func TestSizesThatCannotBeSent(t *testing.T) {
	for _, size := range []int{-1, 0, minSize - 1, maxSize + 1} {
		if _, err := newMessage(size, 1); err == nil {
			t.Errorf("a message of %d bytes", size)
		}
	}
}
