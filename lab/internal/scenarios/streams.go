package scenarios

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/netsim"
)

var _ = register(70, streamsGroup)

// streamsGroup reads many streams round-robin, a frame of each, in one goroutine:
// what a reader has in memory has left the caches by the time it is used again.
func streamsGroup() []lab.Scenario {
	small := way{"peek-4K", "bufio.Reader of 4 KiB, its default: a sixteenth of the memory", func(src io.Reader, _ place) (walk, func()) {
		return peek(bufio.NewReaderSize(src, 4<<10)), nil
	}}
	ways := append(pick(allFrames, "peek", "bufiox", "next", "readbuf"), small)
	var group []lab.Scenario
	for _, count := range []int{100, 1000, 10_000} {
		group = append(group, lab.Scenario{
			Name:     "streams/" + strconv.Itoa(count),
			Title:    fmt.Sprintf("frames of 256 to 1,024 bytes of %d streams from memory, read in turn, network %v", count, netsim.Good),
			Op:       "frame",
			Metric:   lab.NsPerOp,
			Baseline: "peek",
			Ops:      50_000,
			Named:    count > 1000, // 10,000 buffers of 64 KiB are 640 MB
			Targets:  []lab.Target{{Variant: "next", Against: "peek", AtMost: 1}},
			Variants: variants(ways, func(env lab.Env, w way) (lab.Runner, error) { return newRoundRobin(w, env, count) }),
		})
	}
	return group
}

type roundRobin struct {
	walkers []*walker
	next    int // index of the walker to run next
}

func newRoundRobin(w way, env lab.Env, count int) (lab.Runner, error) {
	s := shortFrames(env)
	t := &roundRobin{walkers: make([]*walker, count)}
	sizes := netsim.Draw(netsim.Good, env.Seed)
	for i := range t.walkers {
		t.walkers[i] = spread(w, s, sizes, i, count)
	}
	// The streams are read a few frames apart, so that their buffers do not
	// all come to an end at the same time.
	const spread = 8
	for i, r := range t.walkers {
		if _, err := r.Run(1 + i%spread); err != nil {
			return nil, errors.Join(err, t.Close())
		}
	}
	return t, nil
}

func (t *roundRobin) Run(ops int) (out lab.Sample, err error) {
	s := t.walkers[0].s
	var got, want uint64
	for range ops {
		r := t.walkers[t.next]
		if t.next++; t.next == len(t.walkers) {
			t.next = 0
		}
		sum, err := r.walk(1)
		if err != nil {
			return out, err
		}
		got += sum
		want += s.marks[r.at+1] - s.marks[r.at]
		out.Bytes += s.ends[r.at+1] - s.ends[r.at] - frameHead
		if r.at++; r.at == s.units() {
			r.at = 0
		}
	}
	if got != want {
		return out, fmt.Errorf("%w: %d units of %d streams come to %#x, want %#x", errDiffers, ops, len(t.walkers), got, want)
	}
	out.Check = got
	return out, nil
}

func (t *roundRobin) Close() error {
	var errs []error
	for _, r := range t.walkers {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// spread makes the walker i of count, which begins at a place of its own in the same
// bytes and the same sizes of reads.
func spread(w way, s *stream, sizes *netsim.Table, i, count int) *walker {
	at := i * s.units() / count
	return newWalker(w, sizes.Reader(s.source(at), uint(i*netsim.TableLen/count)), place{s: s, at: at})
}
