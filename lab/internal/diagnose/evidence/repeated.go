package evidence

import (
	"cmp"
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
	// promptly is how soon a reply comes that nothing holds up.
	promptly = 5 * time.Millisecond
	itself   = "itself" // what clients of the program connect to
)

// A Repeated is what a program does again and again, by its name: an address or a path.
type Repeated struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// A descriptor is what is known of one until it is closed.
type descriptor struct {
	way string // the direction of the last call that moved something
	end int64  // where the last pread64 ended
	connection
}

// A connection is what may be known of it before it is used.
type connection struct {
	stream bool    // of TCP
	peer   string  // what it is connected to, if that happened meanwhile
	prompt bool    // no write is held back for an acknowledgement
	served bool    // it was accepted
	port   int     // of its own side, 0 not known
	wakes  bool    // an eventfd, with which a poller is woken
	asks   float64 // since when a server of names is asked over it (UDP); 0 it is not
	dialogue
}

// A dialogue is what has been written to a file since it was read last.
type dialogue struct {
	writes int
	filled bool    // one of them filled a packet
	first  float64 // when the first one began
	last   float64 // when the last one began
	synced int64   // how many fsyncs had ended before
}

// held is how long the reply that came at a time waited for a delayed acknowledgement: since the last write or, of
// many in a row, since the first, which alone was sent at once. It is 0 when it did not.
func (d *dialogue) held(ended float64) time.Duration {
	since := func(began float64) time.Duration {
		waited := time.Duration((ended - began) * float64(time.Second))
		if began <= 0 || waited < ackDelay || waited > lateAck {
			return 0
		}
		return waited
	}
	if behind := time.Duration((ended - d.last) * float64(time.Second)); d.writes < 2 || d.filled || behind < promptly {
		return 0
	}
	return cmp.Or(since(d.last), since(d.first))
}

// A file is one that a process has opened, or asked about by its name.
type file struct{ process, path string }

// repeats follows descriptors: dialogues on them, and what they are made for.
type repeats struct {
	process                    string // whose descriptors a call names: see processesOf
	descriptors                map[string]*descriptor
	opened                     map[file]int64
	out                        *Calls
	dialled, requests, refused map[string]int64 // by the address
	synced, released           int64            // fsyncs that have ended, and threads that those who made them woke
	asked                      float64          // seconds, on descriptors that are closed
	first                      float64          // when the first line was written
}

// of is a descriptor by its number; beyond maxUnfinished of them they are not remembered.
func (r *repeats) of(number string) *descriptor {
	number = r.process + number
	d := r.descriptors[number]
	if d == nil {
		if d = new(descriptor); len(r.descriptors) < maxUnfinished {
			r.descriptors[strings.Clone(number)] = d
		}
	}
	return d
}

// socketAddress is an address as strace writes it, of IPv4 or IPv6.
var socketAddress = regexp.MustCompile(`htons\((\d+)\).*?inet_(?:addr\(|pton\(AF_INET6, )"([0-9a-fA-F.:]+)"`)

var isRefusal = regexp.MustCompile(`ECONNREFUSED|ETIMEDOUT|E(HOST|NET)UNREACH`).MatchString

// count counts what a program may have any number of: names, which are clones of a part of a
// line, or sizes.
func count[K comparable](counts map[K]int64, k K) {
	if _, known := counts[k]; known || len(counts) < maxSizes {
		counts[k]++
	}
}

// call takes a call that has ended; began and ended are seconds, 0 where they are not known.
func (r *repeats) call(name, args, result, after string, moved int64, began, ended float64) {
	number, rest, _ := strings.Cut(strings.TrimSpace(args), ",") // of close, begun and resumed, a space follows
	switch name {
	case "socket":
		if strings.HasPrefix(number, "AF_INET") && strings.Contains(rest, "SOCK_STREAM") {
			r.of(result).connection = connection{stream: true}
		}
	case "accept", "accept4":
		if moved >= 0 && !strings.Contains(rest, "AF_UNIX") {
			r.of(result).connection = connection{peer: itself, served: true}
			count(r.dialled, itself)
			r.out.Accepted++
		}
	case "close":
		r.askedUntil(r.of(number), ended)
		*r.of(number) = descriptor{}
	case "fsync", "fdatasync":
		r.synced++
	case "setsockopt":
		if strings.Contains(rest, "TCP_NODELAY, [1]") {
			r.of(number).prompt = true
		}
	case "connect":
		d, at := r.of(number), socketAddress.FindStringSubmatch(rest)
		switch {
		case !d.stream && at != nil && at[1] == "53":
			d.asks = began
		case !d.stream || at == nil:
		case moved == 0 || strings.Contains(after, "EINPROGRESS"):
			d.peer = net.JoinHostPort(at[2], at[1])
			count(r.dialled, d.peer)
		case isRefusal(after):
			count(r.refused, net.JoinHostPort(at[2], at[1]))
		}
	case "getsockopt": // what became of one that was in progress
		if d := r.of(number); d.peer != "" && strings.Contains(rest, "SO_ERROR") && isRefusal(rest) {
			r.dialled[d.peer]--
			count(r.refused, d.peer)
		}
	case "open", "openat", "stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2":
		path := strings.Trim(texts.FindString(args), `"`)
		// A name within a directory that is open may be one in any.
		if near := strings.HasPrefix(path, "/") || strings.HasPrefix(number, `"`) || number == "AT_FDCWD"; near && moved >= 0 && !strings.Contains(path, ".so") {
			r.out.Opens++
			count(r.opened, file{r.process, strings.Clone(path)})
		}
	default:
		if moved > 0 && askedOf(name, args) >= 0 {
			r.move(r.of(number), direction(name), moved, began, ended)
		}
	}
}

func (r *repeats) move(d *descriptor, way string, moved int64, began, ended float64) {
	if way == "w" {
		if d.peer != "" {
			count(r.requests, d.peer)
		}
		if d.writes == 0 {
			d.first = began
			if d.served {
				r.out.Answers++
			}
			if d.served && d.synced < r.synced {
				r.out.Covered++
			}
		}
		d.writes, d.filled, d.last = d.writes+1, d.filled || moved >= segment, began
		return
	}
	if d.writes > 0 {
		r.out.Replies++
		if waited := d.held(ended); waited > 0 && !d.prompt {
			r.out.Delayed++
			r.out.DelayedTime += waited
		}
	}
	d.dialogue = dialogue{synced: r.synced}
}

func (r *repeats) askedUntil(d *descriptor, until float64) {
	if d.asks != 0 {
		r.asked += until - max(d.asks, r.first)
	}
}

// finish says what was repeated most, and what was under way until then.
func (r *repeats) finish(last float64) {
	const least = 1e-3 // seconds: in all that time a thread may be in one call
	for _, d := range r.descriptors {
		r.askedUntil(d, max(last, r.first+least))
	}
	r.out.Covered = max(r.out.Covered, r.released-r.synced) // one is woken for the lock
	r.out.Asking = r.asked / max(r.out.Took.Seconds(), least)
	paths := map[string]int64{}
	for f, n := range r.opened {
		paths[f.path] = max(paths[f.path], n)
		r.out.Reopened += n - 1
	}
	r.out.Dialled, r.out.Refused, r.out.Opened = most(r.dialled), most(r.refused), most(paths)
	r.out.Requests = r.requests[r.out.Dialled.Name]
}

func most(names map[string]int64) (top Repeated) {
	for name, n := range names {
		if cmp.Or(cmp.Compare(n, top.Count), cmp.Compare(top.Name, name)) > 0 {
			top = Repeated{name, n}
		}
	}
	return top
}
