package live

import "testing"

func TestTimeline(t *testing.T) {
	const v, a, cfg = isVideo, isAudio, isVideo | isConfig
	type step struct {
		k        kind
		in, want uint32
	}
	const again = ^kind(0) // another publisher
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"as pushed", []step{{isMeta, 0, 0}, {cfg, 0, 0}, {v, 0, 0}, {a, 23, 23}, {v, 40, 40}, {a, 35, 35}, {v, 5000, 5000}, {v, 90000, 90000}}},
		{"begins late", []step{{isMeta, 0, 0}, {cfg, 0, 0}, {v, 70000, 70000}, {cfg, 0, 70000}, {v, 70040, 70040}}},
		{"a file that begins again", []step{{cfg, 0, 0}, {v, 0, 0}, {v, 40, 40}, {v, 9960, 9960}, {cfg, 0, 9960}, {v, 0, 10000}, {a, 0, 10000}, {v, 40, 10040}}},
		{"another publisher", []step{{v, 100, 100}, {v, 133, 133}, {again, 0, 0}, {isMeta, 0, 133}, {cfg, 0, 133}, {v, 7000, 166}, {a, 7010, 176}}},
		{"another publisher before any frame", []step{{cfg, 0, 0}, {again, 0, 0}, {cfg, 5, 5}, {v, 5, 5}}},
		{"the clock turns over", []step{{v, 1<<32 - 20, 1<<32 - 20}, {v, 20, 20}, {a, 1<<32 - 10, 1<<32 - 10}, {v, 60, 60}}},
		{"audio runs behind", []step{{v, 2000, 2000}, {a, 1100, 1100}, {a, 1123, 1123}, {v, 2040, 2040}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var line timeline
			for i, s := range c.steps {
				if s.k == again {
					line.resume()
					continue
				}
				if got := line.place(s.in, s.k); got != s.want {
					t.Fatalf("step %d: %d is placed at %d, want %d", i, s.in, got, s.want)
				}
			}
		})
	}
}
