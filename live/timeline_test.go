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
		{"sound seconds before pictures", []step{{v, 0, 0}, {a, 3000, 3000}, {v, 40, 40}, {a, 3023, 3023}, {cfg, 60, 60}, {v, 80, 80}, {a, 3046, 3046}}},
		{"pictures that come late", []step{{a, 8000, 8000}, {v, 0, 0}, {a, 8023, 8023}, {v, 40, 40}}},
		{"a file with sound before pictures begins again", []step{{v, 0, 0}, {a, 3000, 3000}, {v, 5000, 5000}, {a, 8000, 8000}, {v, 0, 8040}, {a, 3000, 11040}, {v, 40, 8080}, {a, 3023, 11063}}},
		{"sound of another clock", []step{{v, 500, 500}, {a | isConfig, 3600_000, 500}, {v, 540, 540}, {a, 3600_000, 540}, {v, 580, 580}, {a, 3600_023, 563}, {a | isConfig, 3600_023, 563}}},
		{"pictures of another clock", []step{{a, 3600_000, 3600_000}, {v, 0, 3600_000}, {a, 3600_023, 3600_023}, {v, 40, 3600_040}}},
		{"sound of another clock, which begins again", []step{{v, 0, 0}, {a, 20000, 0}, {v, 5000, 5000}, {a, 25000, 5000}, {v, 0, 5040}, {a, 20000, 5040}, {v, 40, 5080}, {a, 20023, 5063}}},
		{"sound of before a jump back of pictures", []step{{v, 7200_000, 7200_000}, {a, 7200_000, 7200_000}, {v, 0, 7200_040}, {a, 7200_023, 7200_040}, {v, 40, 7200_080}, {a, 0, 7200_120}, {v, 80, 7200_200}}},
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

// The times go on in another process as they would have here.
func TestTimelineGoesOnElsewhere(t *testing.T) {
	here := timeline{}
	here.place(0, isVideo)
	here.place(3000, isAudio)
	here.place(5000, isVideo)
	for _, at := range []uint32{3600_000, 3600_023} {
		apart := timeline{}
		apart.place(40, isVideo)
		apart.place(at, isAudio)
		if there := apart.state().timeline(); there != apart {
			t.Fatalf("%+v, want %+v", there, apart)
		}
	}
	there := here.state().timeline()
	if there != here {
		t.Fatalf("%+v, want %+v", there, here)
	}
	old := TimeState{Last: 5000, Begun: true} // of an earlier version
	line := old.timeline()
	if got := line.place(4500, isAudio); got != 4500 {
		t.Errorf("sound at 4500 is placed at %d", got)
	}
}
