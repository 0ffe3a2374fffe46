package evidence

import (
	"cmp"
	"maps"
	"net"
	"regexp"
	"strings"
	"time"
)

// Linux delays an acknowledgement for at least ackDelay (TCP_DELACK_MIN), up to its next timer
// tick; beyond lateAck something else is waited for.
const (
	ackDelay = 39 * time.Millisecond
	lateAck  = 60 * time.Millisecond
	segment  = 1400 // bytes: a write that fills a packet is sent at once
)

// A Repeated is what a program does again and again, by its name: an address or a path.
type Repeated struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// A dialogue is what has been written to a file since it was read last.
type dialogue struct {
	writes int
	filled bool    // one of them filled a packet
	last   float64 // when the last one began
}

// repeats follows descriptors: dialogues on them, and what they are made for.
type repeats struct {
	dialogues map[string]*dialogue
	streams   map[string]bool // of TCP; true: connected
	prompt    map[string]bool // on which no write is held back for an acknowledgement
	dialled   map[string]int64
	opened    map[string]int64
	sum       struct{ replies, delayed, requests, opens int64 }
	waited    time.Duration
}

func newRepeats(prompt map[string]bool) repeats {
	r := repeats{dialogues: make(map[string]*dialogue), streams: make(map[string]bool), prompt: make(map[string]bool), dialled: make(map[string]int64), opened: make(map[string]int64)}
	maps.Copy(r.prompt, prompt)
	return r
}

// socketAddress is an address as strace writes it, of IPv4 or IPv6.
var socketAddress = regexp.MustCompile(`htons\((\d+)\).*?inet_(?:addr\(|pton\(AF_INET6, )"([0-9a-fA-F.:]+)"`)

// count counts a name, of which a program may have any number.
func count(names map[string]int64, name string) {
	if _, known := names[name]; known || len(names) < maxSizes {
		names[strings.Clone(name)]++
	}
}

// call takes a call that has ended; began and ended are seconds, 0 where they are not known.
func (r *repeats) call(name, args, result, after string, moved int64, began, ended float64) {
	number, rest, _ := strings.Cut(args, ",")
	switch name {
	case "socket":
		if strings.HasPrefix(number, "AF_INET") && strings.Contains(rest, "SOCK_STREAM") && len(r.streams) < maxUnfinished {
			r.streams[strings.Clone(result)] = false
		}
	case "close":
		delete(r.streams, number)
		delete(r.dialogues, number)
		delete(r.prompt, number)
	case "setsockopt":
		if strings.Contains(rest, "TCP_NODELAY, [1]") && len(r.prompt) < maxUnfinished {
			r.prompt[strings.Clone(number)] = true
		}
	case "connect":
		if _, stream := r.streams[number]; stream && (moved == 0 || strings.Contains(after, "EINPROGRESS")) {
			r.streams[number] = true
			if at := socketAddress.FindStringSubmatch(rest); at != nil {
				count(r.dialled, net.JoinHostPort(at[2], at[1]))
			}
		}
	case "open", "openat":
		path := strings.Trim(texts.FindString(args), `"`)
		// A name within a directory that is open may be one in any.
		if near := strings.HasPrefix(path, "/") || name == "open" || number == "AT_FDCWD"; near && moved >= 0 && !strings.Contains(path, ".so") {
			r.sum.opens++
			count(r.opened, path)
		}
	default:
		if moved > 0 && askedOf(name, args) >= 0 {
			r.move(number, direction(name), moved, began, ended)
		}
	}
}

func (r *repeats) move(number, way string, moved int64, began, ended float64) {
	d := r.dialogues[number]
	if d == nil {
		if len(r.dialogues) >= maxUnfinished {
			return
		}
		d = new(dialogue)
		r.dialogues[strings.Clone(number)] = d
	}
	if way == "w" {
		if r.streams[number] {
			r.sum.requests++
		}
		d.writes, d.filled, d.last = d.writes+1, d.filled || moved >= segment, began
		return
	}
	if d.writes > 0 {
		r.sum.replies++
		waited := time.Duration((ended - d.last) * float64(time.Second))
		if d.writes > 1 && !d.filled && d.last > 0 && !r.prompt[number] && waited >= ackDelay && waited <= lateAck {
			r.sum.delayed++
			r.waited += waited
		}
	}
	*d = dialogue{}
}

func (r *repeats) into(c *Calls) {
	c.Replies, c.Delayed, c.DelayedTime = r.sum.replies, r.sum.delayed, r.waited
	c.Dialled, c.Requests = most(r.dialled), r.sum.requests
	c.Opened, c.Opens = most(r.opened), r.sum.opens
}

func most(names map[string]int64) (top Repeated) {
	for name, n := range names {
		if cmp.Or(cmp.Compare(n, top.Count), cmp.Compare(top.Name, name)) > 0 {
			top = Repeated{name, n}
		}
	}
	return top
}
