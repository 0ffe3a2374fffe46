package web

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
)

// MaxLabels is how many streams have their own metrics: publishers choose the
// names, and every name is a new time series in Prometheus.
const MaxLabels = 200

// restLabel is the label of all other streams together. It cannot be a stream's
// name, which has a slash.
const restLabel = "other"

func newMetrics(w *Server) http.Handler {
	registry := w.Metrics
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		newCollector(w.Host),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "sluice_http_requests_displaced_total", Help: "HTTP requests that had to give way: of the API and of offers, that sent and took nothing; others, whose answer was not taken while memory was short.",
		}, func() float64 { return float64(w.Texts.Stats().GaveWay + w.conns.answering.number()) }),
	)
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		// Metrics contain stream names, so they need the same permission as the
		// API.
		if ownPage(rw, r) && reads(rw, r) && w.mayRead(rw, r) {
			w.text(handler.ServeHTTP)(rw, r)
		}
	})
}

// collector reads the server's figures at each scrape.
type collector struct {
	s *session.Host

	totals *totalDescs
	rest   rest

	streams                                        *prometheus.Desc
	memoryOut, memoryIdle, memoryPinned            *prometheus.Desc
	streamViewers, framesIn, bytesIn               *prometheus.Desc
	framesOut, bytesOut, dropped, jumps, evicted   *prometheus.Desc
	ringBytes, ringFrames, gopSeconds, streamStart *prometheus.Desc
}

func newCollector(s *session.Host) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("sluice_"+name, help, labels, nil)
	}
	return &collector{
		s:            s,
		totals:       newTotalDescs(desc),
		streams:      desc("streams", "Streams that there are, those that wait for their publisher to come back included."),
		memoryOut:    desc("memory_out_bytes", "Counted memory that is checked out."),
		memoryIdle:   desc("memory_idle_bytes", "Counted memory that is free and kept."),
		memoryPinned: desc("memory_pinned_bytes", "Part of the memory that is held, in blocks that only small pieces keep."),

		streamViewers: desc("stream_viewers", "Viewers of a stream.", "stream"),
		framesIn:      desc("stream_received_frames_total", "Tags that publishers of a stream have sent.", "stream"),
		bytesIn:       desc("stream_received_bytes_total", "Bytes of the tags that publishers of a stream have sent, without headers.", "stream"),
		framesOut:     desc("stream_sent_frames_total", "Tags that viewers of a stream were sent.", "stream"),
		bytesOut:      desc("stream_sent_bytes_total", "Bytes that viewers of a stream were sent.", "stream"),
		dropped:       desc("stream_dropped_frames_total", "Tags that slow viewers of a stream were not sent.", "stream"),
		jumps:         desc("stream_jumps_total", "Times that a slow viewer of a stream was moved on to a key frame.", "stream"),
		evicted:       desc("stream_evicted_viewers_total", "Viewers of a stream that were closed for being slow.", "stream"),
		ringBytes:     desc("stream_ring_bytes", "Bytes of a stream that are kept.", "stream"),
		ringFrames:    desc("stream_ring_frames", "Tags of a stream that are kept.", "stream"),
		gopSeconds:    desc("stream_gop_seconds", "Length of the latest group of pictures of a stream.", "stream"),
		streamStart:   desc("stream_start_time_seconds", "When a stream began, in Unix time.", "stream"),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(c, ch)
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	memory := c.s.Alloc.Stats()
	gauge(c.memoryOut, float64(memory.OutBytes))
	gauge(c.memoryIdle, float64(memory.IdleBytes))
	gauge(c.memoryPinned, float64(memory.PinnedBytes))
	c.collectTotals(ch)
	c.rest.scraping.Lock()
	defer c.rest.scraping.Unlock()
	streams := c.s.Hub.Streams()
	gauge(c.streams, float64(len(streams)))
	// Sort by age, so that the set of streams with their own metrics is stable.
	slices.SortFunc(streams, func(a, b *live.Stream) int {
		return cmp.Or(a.Since().Compare(b.Since()), cmp.Compare(a.Name(), b.Name()))
	})
	figures := []figure{
		{c.streamViewers, prometheus.GaugeValue, func(f live.StreamStats) float64 { return float64(f.Viewers) }},
		{c.framesIn, prometheus.CounterValue, func(f live.StreamStats) float64 { return float64(f.FramesIn) }},
		{c.bytesIn, prometheus.CounterValue, func(f live.StreamStats) float64 { return float64(f.BytesIn) }},
		{c.framesOut, prometheus.CounterValue, func(f live.StreamStats) float64 { return float64(f.FramesOut) }},
		{c.bytesOut, prometheus.CounterValue, func(f live.StreamStats) float64 { return float64(f.BytesOut) }},
		{c.dropped, prometheus.CounterValue, func(f live.StreamStats) float64 { return float64(f.Dropped) }},
		{c.jumps, prometheus.CounterValue, func(f live.StreamStats) float64 { return float64(f.Jumps) }},
		{c.evicted, prometheus.CounterValue, func(f live.StreamStats) float64 { return float64(f.Evicted) }},
		{c.ringBytes, prometheus.GaugeValue, func(f live.StreamStats) float64 { return float64(f.RingBytes) }},
		{c.ringFrames, prometheus.GaugeValue, func(f live.StreamStats) float64 { return float64(f.RingFrames) }},
	}
	own := min(len(streams), MaxLabels)
	for _, st := range streams[:own] {
		f := st.Stats()
		for _, m := range figures {
			ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.of(f), st.Name())
		}
		gauge(c.streamStart, float64(st.Since().UnixMilli())/1000, st.Name())
		gauge(c.gopSeconds, f.GOPTime.Seconds(), st.Name())
	}
	sums := c.rest.sums(streams[own:], figures)
	if len(streams) > MaxLabels {
		for i, m := range figures {
			ch <- prometheus.MustNewConstMetric(m.desc, m.kind, sums[i], restLabel)
		}
	}
}

func (c *collector) collectTotals(ch chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	d, t := c.totals, c.s.Register.Totals()
	for kind := range kindsOf(&t) {
		role, protocol, f := string(kind.Role), kind.Protocol, t.Figures[kind]
		send(d.sessions, counter, float64(t.Began[kind]), role, protocol)
		if kind.Role == session.RolePublisher {
			send(d.publishers, gauge, float64(t.On[kind]), protocol)
			send(d.receivedBytes, counter, float64(f.Bytes), protocol)
			send(d.receivedFrames, counter, float64(f.Frames), protocol)
			continue
		}
		send(d.viewers, gauge, float64(t.On[kind]), protocol)
		send(d.sentBytes, counter, float64(f.Bytes), protocol)
		send(d.sentFrames, counter, float64(f.Frames), protocol)
		send(d.droppedFrames, counter, float64(f.Dropped), protocol)
		send(d.jumps, counter, float64(f.Jumps), protocol)
	}
	for o, n := range t.Refused {
		send(d.refusals, counter, float64(n), string(o.Role), o.Code)
	}
	for o, n := range t.Ended {
		send(d.endings, counter, float64(n), string(o.Role), o.Code)
	}
	send(d.bans, gauge, float64(len(c.s.Gate.Bans())))
}
