package web

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hls"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
)

// StreamList is what /api/streams answers.
type StreamList struct {
	Now     int64        `json:"now"`            // Unix time in ms
	Node    string       `json:"node,omitempty"` // the one that was asked, in a cluster
	Server  ServerInfo   `json:"server"`
	Memory  MemoryInfo   `json:"memory"`
	Streams []StreamInfo `json:"streams"`
}

type ServerInfo struct {
	Version    string `json:"version"`
	UptimeS    int64  `json:"uptime_s"`
	Goroutines int    `json:"goroutines"`
	Resident   int64  `json:"resident"` // bytes
	MergeMS    int64  `json:"merge_ms"`
}

// MemoryInfo is the memory that media passes through, in bytes.
type MemoryInfo struct {
	Out    int64 `json:"out"`    // in use
	Idle   int64 `json:"idle"`   // free, kept for reuse
	Pinned int64 `json:"pinned"` // the part of out in blocks that only views keep
}

// StreamInfo is one stream in the API. It has many fields because they are the keys of
// one flat JSON object: their order here is that of the answer.
type StreamInfo struct {
	Name       string          `json:"name"`
	Node       string          `json:"node,omitempty"` // in a cluster
	From       string          `json:"from,omitempty"` // the node that this one pulls it from
	State      string          `json:"state"`          // live, or grace: without a publisher
	Publisher  *PublisherInfo  `json:"publisher"`
	Standbys   []PublisherInfo `json:"standbys,omitempty"` // that wait to take its place, the first first
	Since      time.Time       `json:"since"`
	Viewers    int             `json:"viewers"`
	Protocols  map[string]int  `json:"protocols"`
	Video      *VideoInfo      `json:"video"`
	Audio      *AudioInfo      `json:"audio"`
	Tracks     []TrackInfo     `json:"tracks"`
	BitrateIn  int64           `json:"bitrate_in"` // bits a second
	BitrateOut int64           `json:"bitrate_out"`
	FrameRate  float64         `json:"frame_rate"`
	GOP        GOPInfo         `json:"gop"`
	Ring       RingInfo        `json:"ring"`
	FramesIn   int64           `json:"frames_in"`
	BytesIn    int64           `json:"bytes_in"`
	FramesOut  int64           `json:"frames_out"`
	BytesOut   int64           `json:"bytes_out"`
	Dropped    int64           `json:"dropped"`
	Jumps      int64           `json:"jumps"`
	Evicted    int64           `json:"evicted"`
	MergeMS    int64           `json:"merge_ms"`
	HLS        *hls.Status     `json:"hls,omitempty"`            // while it is served by HLS
	Recorded   *time.Time      `json:"recorded_since,omitempty"` // from when on viewers may rewind
	History    *HistoryInfo    `json:"history,omitempty"`
}

type PublisherInfo struct {
	ID       string    `json:"id"`
	Address  string    `json:"address"`
	Protocol string    `json:"protocol"`
	Since    time.Time `json:"since"`
	LeftOut  []string  `json:"left_out,omitempty"` // tracks that are not carried, and why
}

// GOPInfo is the latest complete group of pictures.
type GOPInfo struct {
	Frames int   `json:"frames"`
	Bytes  int   `json:"bytes"`
	MS     int64 `json:"ms"`
}

type RingInfo struct {
	Frames int `json:"frames"`
	Bytes  int `json:"bytes"`
}

// HistoryInfo are samples of a stream, the oldest first.
type HistoryInfo struct {
	StepMS  int64     `json:"step_ms"`
	T       int64     `json:"t"` // Unix time of the last in ms
	Viewers []int     `json:"viewers"`
	In      []int64   `json:"in"` // bits a second
	Out     []int64   `json:"out"`
	FPS     []float64 `json:"fps"`
	Dropped []int64   `json:"dropped"`
}

func (w *Server) getStreams(rw http.ResponseWriter, r *http.Request) {
	withHistory, err := wantsHistory(r)
	if err != nil {
		answerError(rw, http.StatusBadRequest, err.Error())
		return
	}
	now := time.Now()
	memory := w.Alloc.Stats()
	answer := StreamList{
		Now: now.UnixMilli(), Node: w.nodeName(),
		Server: ServerInfo{
			Version: w.version, UptimeS: int64(now.Sub(w.began).Seconds()), Goroutines: runtime.NumGoroutine(),
			Resident: resident(), MergeMS: w.Config().Merge.Milliseconds(),
		},
		Memory:  MemoryInfo{Out: memory.OutBytes, Idle: memory.IdleBytes, Pinned: memory.PinnedBytes},
		Streams: []StreamInfo{},
	}
	who := w.whoIsWhere()
	for _, st := range w.Hub.Streams() {
		answer.Streams = append(answer.Streams, w.stream(now, st, who[st.Name()], withHistory))
	}
	slices.SortFunc(answer.Streams, func(a, b StreamInfo) int { return cmp.Compare(a.Name, b.Name) })
	answerJSON(rw, answer)
}

func (w *Server) getStream(rw http.ResponseWriter, r *http.Request, name string) {
	withHistory, err := wantsHistory(r)
	if err != nil {
		answerError(rw, http.StatusBadRequest, err.Error())
		return
	}
	st, ok := w.Hub.Stream(name)
	if !ok {
		answerError(rw, http.StatusNotFound, fmt.Sprintf("there is no stream %.80q", name))
		return
	}
	answerJSON(rw, w.stream(time.Now(), st, w.whoIsWhere()[name], withHistory))
}

func wantsHistory(r *http.Request) (bool, error) {
	switch text := r.URL.Query().Get("history"); text {
	case "", "0":
		return false, nil
	case "1":
		return true, nil
	default:
		return false, fmt.Errorf("history=%.20s is neither 0 nor 1", session.Quoted(text))
	}
}

// people holds the sessions of one stream.
type people struct {
	publishers []*session.Client
	protocols  map[string]int // viewers by protocol
}

// whoIsWhere groups the sessions by stream.
func (w *Server) whoIsWhere() map[string]people {
	where := map[string]people{}
	for _, c := range w.Register.List() {
		p := where[c.Stream]
		if c.Role == session.RolePublisher {
			p.publishers = append(p.publishers, c)
		} else {
			if p.protocols == nil {
				p.protocols = map[string]int{}
			}
			p.protocols[c.Protocol]++
		}
		where[c.Stream] = p
	}
	return where
}

// info is a publisher's: the latest session with its address, since an older one is being
// replaced.
func (p people) info(one *live.Publisher) PublisherInfo {
	a := PublisherInfo{Address: one.Name(), Since: one.Since().UTC()}
	for _, c := range p.publishers {
		if c.Address == one.Name() {
			a.ID, a.Protocol, a.LeftOut = c.ID, c.Protocol, c.LeftOut()
		}
	}
	return a
}

func (w *Server) stream(now time.Time, st *live.Stream, who people, withHistory bool) StreamInfo {
	f := st.Stats()
	rates := w.history.latest(now, st, f)
	a := StreamInfo{
		Name: st.Name(), State: "grace", Since: st.Since().UTC(), Viewers: f.Viewers, Protocols: who.protocols,
		BitrateIn: rates.in, BitrateOut: rates.out, FrameRate: tenths(rates.fps),
		GOP:      GOPInfo{f.GOPFrames, f.GOPBytes, f.GOPTime.Milliseconds()},
		Ring:     RingInfo{f.RingFrames, f.RingBytes},
		FramesIn: f.FramesIn, BytesIn: f.BytesIn, FramesOut: f.FramesOut, BytesOut: f.BytesOut,
		Dropped: f.Dropped, Jumps: f.Jumps, Evicted: f.Evicted, MergeMS: w.For(st.Name()).Merge.Milliseconds(),
	}
	watching := 0
	for _, n := range who.protocols {
		watching += n
	}
	a.Viewers = max(a.Viewers, watching) // those of protocols that are made from the stream, too
	if w.Nodes != nil {
		a.Node, a.From = w.Nodes.Name(), w.Nodes.From(a.Name)
	}
	a.Video, a.Audio = mediaInfo(st, f)
	a.Tracks = tracksOf(st, a.Video, a.Audio)
	if a.Protocols == nil {
		a.Protocols = map[string]int{}
	}
	if p := st.Publisher(); p != nil {
		a.State = "live"
		one := who.info(p)
		a.Publisher = &one
	}
	for _, p := range st.Waiting() {
		a.Standbys = append(a.Standbys, who.info(p))
	}
	if status, ok := w.HLS.Status(st.Name()); ok {
		a.HLS = &status
	}
	a.Recorded = w.recordedSince(now, st.Name())
	if withHistory {
		a.History = w.pastOf(now, st)
	}
	return a
}

func (w *Server) pastOf(now time.Time, st *live.Stream) *HistoryInfo {
	points, last := w.history.all(st)
	if len(points) == 0 {
		last = now
	}
	h := &HistoryInfo{
		StepMS: w.history.step.Milliseconds(), T: last.UnixMilli(),
		Viewers: []int{}, In: []int64{}, Out: []int64{}, FPS: []float64{}, Dropped: []int64{},
	}
	for _, p := range points {
		h.Viewers = append(h.Viewers, p.viewers)
		h.In = append(h.In, p.in)
		h.Out = append(h.Out, p.out)
		h.FPS = append(h.FPS, tenths(p.fps))
		h.Dropped = append(h.Dropped, p.dropped)
	}
	return h
}

func tenths(x float64) float64 { return math.Round(x*10) / 10 }
