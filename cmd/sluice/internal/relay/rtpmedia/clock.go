package rtpmedia

import (
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
)

// A clock converts times of a stream into timestamps of a track.
type clock struct {
	rate  int
	from  uint32 // time of the stream, in ms, at which
	begin uint32 // is the timestamp
	next  uint32 // timestamp behind the latest frame of sound
	known bool   // next counts
}

// slack is by how much times in ms may differ from what the samples say: rounding, by
// those who made the times and by FLV.
const slack = 3 * time.Millisecond

// at converts a time.
func (c *clock) at(ms uint32) uint32 {
	return c.begin + uint32(int64(int32(ms-c.from))*int64(c.rate)/1000)
}

// sound returns the timestamp of a frame of sound: right behind the one before it
// as long as that fits its time, since the samples are exact and ms are not.
func (c *clock) sound(u *au.Unit) uint32 {
	at := c.at(u.Time)
	if off := int32(at - c.next); c.known && abs(off) <= int32(int64(c.rate)*int64(slack)/int64(time.Second)) {
		at = c.next
	} else {
		c.from, c.begin = u.Time, at
	}
	if int32(u.Time-c.from) > int32(time.Hour/time.Millisecond) {
		c.from, c.begin = u.Time, at
	}
	c.next, c.known = at, false
	if u.Config != nil && u.Config.Rate > 0 {
		if n := u.Config.Samples(u.Parts[0]); n > 0 {
			c.next, c.known = at+uint32(int64(n)*int64(c.rate)/int64(u.Config.Rate)), true
		}
	}
	return at
}

func abs(n int32) int32 {
	if n < 0 {
		return -n
	}
	return n
}

// ntpEpoch is 1900 in seconds before 1970 (RFC 5905, section 6).
const ntpEpoch = 2208988800

// ntp is t as 32 bits of seconds and 32 of their fraction.
func ntp(t time.Time) uint64 {
	return uint64(t.Unix()+ntpEpoch)<<32 | uint64(t.Nanosecond())<<32/1e9
}
