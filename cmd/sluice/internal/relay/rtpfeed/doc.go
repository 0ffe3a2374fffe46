// Package rtpfeed makes the RTP packets of a stream once for all viewers of a kind, and
// only while there are some. A Feed reads the stream and appends its packets to a
// live.Stream of its own, from which viewers are sent as everywhere in this program.
// So the same rules hold for those who are slow.
//
// The frames of that stream are packets as package rtpmedia lays them out: interleaved
// frames of RTSP. A Cutter finds them in what a live.Writer writes.
//
// Feeds, a Feed and a Kept are for use by many goroutines at once; a Cutter has one
// caller at a time.
package rtpfeed
