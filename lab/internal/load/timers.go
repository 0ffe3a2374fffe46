package load

// timers is a heap of the times at which connections are due, the earliest first.
type timers struct{ list []timer }

type timer struct {
	at   int64
	peer int32
}

// next returns the earliest time, or never.
func (t *timers) next() int64 {
	if len(t.list) == 0 {
		return never
	}
	return t.list[0].at
}

func (t *timers) push(at int64, peer int) {
	t.list = append(t.list, timer{at, int32(peer)})
	i := len(t.list) - 1
	for i > 0 && t.list[i].at < t.list[(i-1)/2].at {
		t.list[i], t.list[(i-1)/2] = t.list[(i-1)/2], t.list[i]
		i = (i - 1) / 2
	}
}

// pop takes the earliest off and returns whose it is; there must be one.
func (t *timers) pop() int {
	first, last := t.list[0], len(t.list)-1
	t.list[0] = t.list[last]
	t.list = t.list[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if t.list[child].at < t.list[least].at {
				least = child
			}
		}
		if least == i {
			return int(first.peer)
		}
		t.list[i], t.list[least] = t.list[least], t.list[i]
		i = least
	}
}
