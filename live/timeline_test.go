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
