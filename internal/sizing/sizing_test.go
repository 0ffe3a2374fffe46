package sizing_test

import (
	"math/rand/v2"
	"testing"

	"github.com/sluice-go/sluice/internal/sizing"
)

const (
	minBlock   = sizing.MinBlock
	firstBlock = sizing.FirstBlock
	maxBlock   = sizing.MaxBlock
)

// after returns the sizing of a stream that was pinned as bufLen says and seen
// as see does.
func after(bufLen int, see func(s *sizing.Sizing)) *sizing.Sizing {
	s := sizing.New(bufLen)
	if see != nil {
		see(&s)
	}
	return &s
}

func times(n int, f func(s *sizing.Sizing)) func(s *sizing.Sizing) {
	return func(s *sizing.Sizing) {
		for range n {
			f(s)
		}
	}
}

func full(s *sizing.Sizing)    { s.Saw(s.Want(), s.Want(), s.Want()) }
func little(s *sizing.Sizing)  { s.Saw(1, s.Want(), s.Want()) }
func pressed(s *sizing.Sizing) { s.Pressed = true }
func came(n int) func(s *sizing.Sizing) {
	return func(s *sizing.Sizing) { s.Asked(n); s.Came(n) }
}

func TestWant(t *testing.T) {
	for _, c := range []struct {
		name   string
		bufLen int
		see    func(s *sizing.Sizing)
		want   int
	}{
		{"nothing is known", 0, nil, firstBlock},
		{"one full read", 0, full, 4 * firstBlock},
		{"full reads", 0, times(10, full), maxBlock},
		{"seven reads of little", 0, times(7, little), firstBlock},
		{"eight reads of little", 0, times(8, little), firstBlock / 2},
		{"reads of little for ever", 0, times(1000, little), minBlock},
		{"little after much", 0, func(s *sizing.Sizing) { times(10, full)(s); times(8, little)(s) }, maxBlock / 2},
		{"a frame of 1000", 0, func(s *sizing.Sizing) { s.Asked(1000) }, 16_000},
		{"a frame of 10,000", 0, func(s *sizing.Sizing) { s.Asked(10_000) }, maxBlock},
		{"a claim that did not come", 0, func(s *sizing.Sizing) { s.Asked(1 << 30) }, maxBlock},
		{"frames of 100,000 that came", 0, came(100_000), 200_000},
		{"trust ends", 0, came(10 << 20), 1 << 20},
		{"long frames that came, then short ones", 0, func(s *sizing.Sizing) { came(100_000)(s); times(200, came(10))(s) }, firstBlock},
		{"an open end is no frame", 0, func(s *sizing.Sizing) { s.Open = true; s.Asked(60_000); s.Came(60_000) }, firstBlock},
		{"under pressure", 0, func(s *sizing.Sizing) { times(10, full)(s); pressed(s) }, minBlock},
		{"pinned", 1000, times(10, full), 1000},
		{"pinned under pressure", 1000, pressed, 1000},
		{"pinned below 16", 3, nil, 16},
		{"pinned beyond all bounds", 1 << 30, nil, 1 << 28},
	} {
		if got := after(c.bufLen, c.see).Want(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestAskedFallsSlowly(t *testing.T) {
	s := after(0, func(s *sizing.Sizing) { s.Asked(1000) })
	for i := range 4 { // they may be headers in between
		s.Asked(10)
		if s.Want() != 16_000 {
			t.Fatalf("after %d short ones: %d", i+1, s.Want())
		}
	}
	before := s.Want()
	for range 100 {
		s.Asked(10)
		if s.Want() > before {
			t.Fatalf("%d after %d", s.Want(), before)
		}
		before = s.Want()
	}
	if before != firstBlock {
		t.Errorf("at last %d", before)
	}
	s.More(2000, 2000, 4096, 4096) // does not wait for the fifth
	if s.Want() != 32_000 {
		t.Errorf("a longer one: %d", s.Want())
	}
	s.More(100, 2000, 4096, 4096)
	if s.Want() != 32_000 {
		t.Errorf("More made it shorter: %d", s.Want())
	}
}

func TestFreshAndSuits(t *testing.T) {
	drained := func(n int) func(s *sizing.Sizing) {
		return func(s *sizing.Sizing) { s.Saw(n, firstBlock, firstBlock) }
	}
	for _, c := range []struct {
		name  string
		see   func(s *sizing.Sizing)
		need  int
		keeps bool
		want  int
	}{
		{"nothing is known", nil, 10, false, firstBlock},
		{"more is needed", nil, 10_000, false, 10_000},
		{"a source that keeps the block, nothing known", func(s *sizing.Sizing) { s.Drained = true }, 1, true, minBlock},
		{"it keeps the block, messages of 1,500", drained(1500), 1, true, 1500},
		{"it keeps the block, and more is needed", drained(1500), 3000, true, 3000},
		{"it keeps nothing", drained(1500), 1, false, firstBlock},
		{"it did not drain", full, 1, true, 4 * firstBlock},
		{"pressure", func(s *sizing.Sizing) { drained(1500)(s); pressed(s) }, 1, true, minBlock},
	} {
		if got := after(0, c.see).Fresh(c.need, c.keeps); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	s := after(0, nil)
	for _, c := range []struct {
		length, size, need int
		keeps, want        bool
	}{
		{4096, 4096, 1, false, true},
		{4096, 4096, 5000, false, false}, // too short for what is needed
		{2048, 4096, 1, false, false},    // half of what is wanted
		{2049, 4096, 1, false, true},
		{8192, 4096, 1, false, true}, // twice, given back in a wait
		{8192, 4096, 1, true, false}, // twice, kept in a wait
		{8191, 4096, 1, true, true},
		{16384, 4096, 1, false, false},
	} {
		if got := s.Suits(c.length, c.size, c.need, c.keeps); got != c.want {
			t.Errorf("Suits(%d, %d, %d, %v) is %v", c.length, c.size, c.need, c.keeps, got)
		}
	}
}

// TestRecentIsTheLongestMessageOfLate: one that grows costs a second read once.
func TestRecentIsTheLongestMessageOfLate(t *testing.T) {
	s := after(0, nil)
	saw := func(n, room int) int { s.Saw(n, room, room); s.Drained = true; return s.Fresh(1, true) }
	if got := saw(3000, 4096); got != 3000 {
		t.Errorf("after a message of 3,000: %d", got)
	}
	if got := saw(3000, 3000); got != 6000 {
		t.Errorf("after a read that was full: %d", got)
	}
	for range 200 {
		saw(100, 4096)
	}
	if got := s.Fresh(1, true); got != minBlock {
		t.Errorf("200 short ones later: %d", got)
	}
}

func TestRulesOfRoom(t *testing.T) {
	fresh, pinned, squeezed := after(0, nil), after(1000, nil), after(0, pressed)
	bytewise := after(0, func(s *sizing.Sizing) { s.Asked(1); pressed(s) })
	long := after(0, func(s *sizing.Sizing) { s.Asked(16_000) })
	frames := after(16<<10, func(s *sizing.Sizing) { s.Asked(1000) })
	messages := after(16<<10, func(s *sizing.Sizing) { s.Asked(1); s.Saw(700, 4096, 16<<10) })
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"WorthParking", fresh.WorthParking(), firstBlock / 4},
		{"WorthParking for a frame", frames.WorthParking(), 1000},
		{"WorthParking for a message", messages.WorthParking(), 700},
		{"WorthParking under pressure", squeezed.WorthParking(), minBlock},
		{"Length", fresh.Length(4096, 3000), 4096},
		{"Length of a pinned one", pinned.Length(1024, 1000), 1000},
		{"Tail of an eighth", fresh.Tail(512, 4096), true},
		{"Tail of less", fresh.Tail(511, 4096), false},
		{"Tail where reads stop", long.Tail(1, maxBlock), true},
		{"Grown to what is needed", fresh.Grown(5000, 4999), 5000},
		{"Grown where classes double it", fresh.Grown(1<<20+1, 1<<20), 1<<20 + 1},
		{"Grown above the classes", fresh.Grown(4<<20+1, 4<<20), 8 << 20},
		{"Grown of a pinned one", pinned.Grown(1001, 1000), 2000},
		{"Direct, of a block", fresh.Direct(maxBlock, 0), true},
		{"Direct, of more", fresh.Direct(maxBlock+1, 0), false},
		{"Direct, of twice what is there", fresh.Direct(200_000, 100_000), true},
		{"Direct, of frames that came", after(0, came(100_000)).Direct(200_000, 0), true},
		{"Gather", fresh.Gather(1<<20, 0), maxBlock},
		{"Gather beside a front", fresh.Gather(1<<20, 100), maxBlock / 2},
		{"Gather the last", fresh.Gather(100, maxBlock), 100},
		{"Gather of a pinned one", pinned.Gather(1<<20, maxBlock), 1000},
		{"Gather under pressure", squeezed.Gather(1<<20, 1000), 1000},
		{"Gather the first under pressure", squeezed.Gather(1<<20, 0), minBlock},
		{"Behind nothing", fresh.Behind(1, 0), minBlock},
		{"Behind little", fresh.Behind(1, 1000), 1000},
		{"Behind much", fresh.Behind(1, 1<<20), firstBlock},
		{"Behind, of much", fresh.Behind(10_000, 0), 10_000},
		{"Behind, of more than a block", fresh.Behind(1<<20, 0), maxBlock},
		{"Little", fresh.Little(512, 4096), true},
		{"Little, but more than an eighth", fresh.Little(513, 4096), false},
		{"Little, but much", fresh.Little(firstBlock+1, maxBlock), false},
		{"Little under pressure", squeezed.Little(firstBlock+1, maxBlock), true},
		{"Little of the smallest", fresh.Little(1, minBlock), false},
		{"Little of a pinned one", pinned.Little(1, 4096), false},
		{"Limit", fresh.Limit(4096, 100, 0), 4096},
		{"Limit of long frames, before the last one", long.Limit(maxBlock, 1000, 0), maxBlock - 16_000},
		{"Limit of long frames, at the last one", long.Limit(maxBlock, 60_000, 0), 60_000 + 250},
		{"Limit of long frames, at the end", long.Limit(maxBlock, maxBlock-10, 0), maxBlock},
		{"Limit under pressure", squeezed.Limit(4096, 100, 0), 100},
		{"Limit of items of a byte under pressure", bytewise.Limit(4096, 100, 1), 4096},
		{"Limit of the smallest under pressure", squeezed.Limit(minBlock, 100, 0), minBlock},
		{"Pinned", pinned.Pinned(), true},
		{"not Pinned", fresh.Pinned(), false},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

// A reader that asks for bytes of an item reads up to Limit, and goes on while they are not there.
func TestLimitIsNotBeforeTheEndOfTheItem(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 20_000 {
		s := sizing.New(rnd.IntN(2) * rnd.IntN(maxBlock))
		for range rnd.IntN(8) {
			asked := rnd.IntN(1 << rnd.IntN(20))
			s.Open = rnd.IntN(8) == 0
			s.Asked(asked)
			s.Begins(int64(rnd.IntN(200)), asked)
			s.Came(asked)
		}
		s.Pressed = rnd.IntN(2) == 0
		length := minBlock + rnd.IntN(4*maxBlock)
		end := 1 + rnd.IntN(length)
		asked := 1 + rnd.IntN(end)
		if limit := s.Limit(length, end, asked); limit < end || limit > length {
			t.Fatalf("seed %d: the limit of %d bytes up to %d, in %d, is %d: %+v", seed, asked, end, length, limit, s)
		}
	}
}
