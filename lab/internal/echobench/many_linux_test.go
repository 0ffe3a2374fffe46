package echobench

import "testing"

func TestManyGetEachFrame(t *testing.T) {
	for _, way := range []string{"aio", "bare"} {
		m, err := NewMany(way, 20, 16<<10, 1)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			if wall, _, err := m.Write(); err != nil || wall <= 0 {
				t.Fatalf("%s: %v, %v", way, wall, err)
			}
		}
		// A byte that was not asked for makes the next frame another one.
		if _, err := m.far[3].Read(nil); err != nil {
			t.Fatal(err)
		}
		m.far[3], m.far[4] = m.far[4], m.far[3]
		if way == "bare" {
			if _, err := m.near[7].Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if _, _, err := m.Write(); err == nil {
				t.Error("another frame is not found out")
			}
		}
		m.Close()
	}
	if _, err := NewMany("other", 1, 16<<10, 1); err == nil {
		t.Error("an unknown way")
	}
}
