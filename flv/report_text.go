package flv

import (
	"fmt"
	"io"
	"strings"

	"github.com/sluice-go/sluice/amf0"
)

// String returns the report as people read it, in several lines.
func (r Report) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "FLV, %d bytes, %s, %s\n", r.Bytes, seconds(r.Duration), rate(r.Bitrate))
	if r.Video != nil {
		r.Video.write(&s)
	}
	if r.Audio != nil {
		r.Audio.write(&s)
	}
	r.Script.write(&s)
	problems := r.Problems()
	if len(problems) == 0 {
		s.WriteString("no problems\n")
	}
	for _, p := range problems {
		fmt.Fprintf(&s, "problem: %s\n", p)
	}
	return s.String()
}

// WriteTo writes String to w.
func (r Report) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, r.String())
	return int64(n), err
}

func (v *VideoReport) write(s *strings.Builder) {
	fmt.Fprintf(s, "video   %s%s", v.Codec, form(v.Enhanced))
	if v.Width > 0 {
		fmt.Fprintf(s, ", %dx%d, profile %d, level %d", v.Width, v.Height, v.Profile, v.Level)
	}
	if v.FrameRate > 0 {
		fmt.Fprintf(s, ", %.4g frames/s", v.FrameRate)
	}
	v.TrackReport.write(s)
	fmt.Fprintf(s, "        %s", plural(v.KeyFrames, "key frame"))
	if g := v.GOP; g.Groups > 0 {
		fmt.Fprintf(s, "; from one to the next %.4g ms (%d to %d), %d to %s", g.MeanTime, g.MinTime, g.MaxTime, g.MinFrames, plural(g.MaxFrames, "frame"))
	}
	s.WriteString("\n")
}

func (a *AudioReport) write(s *strings.Builder) {
	fmt.Fprintf(s, "audio   %s%s", a.Codec, form(a.Enhanced))
	if a.Rate > 0 {
		fmt.Fprintf(s, ", %d Hz, %s", a.Rate, plural(int64(a.Channels), "channel"))
	}
	a.TrackReport.write(s)
}

func (t *TrackReport) write(s *strings.Builder) {
	fmt.Fprintf(s, ", %s\n        %s, %s, from %s to %s\n", rate(t.Bitrate), plural(t.Packets, "packet"), plural(t.Configs, "sequence header"), seconds(t.First), seconds(t.Last))
}

func (r *ScriptReport) write(s *strings.Builder) {
	fmt.Fprintf(s, "script  %s", plural(r.Tags, "tag"))
	for i, name := range r.Names {
		if i == 0 {
			s.WriteString(": ")
		} else {
			s.WriteString(", ")
		}
		s.WriteString(brief(name))
	}
	s.WriteString("\n")
	for i, p := range r.Metadata {
		if i == mostLines {
			fmt.Fprintf(s, "        and %d more\n", len(r.Metadata)-mostLines)
			break
		}
		fmt.Fprintf(s, "        %s %s\n", brief(p.Name), describe(p.Value))
	}
}

const (
	mostLines = 40 // of metadata
	mostText  = 80 // bytes of a string
)

// describe is a value of metadata on one line.
func describe(v amf0.Value) string {
	switch v := v.(type) {
	case string:
		return brief(v)
	case amf0.XML:
		return brief(string(v))
	case float64:
		return fmt.Sprintf("%.10g", v)
	case amf0.Date:
		return fmt.Sprintf("%.0f ms since 1970", v.Milliseconds)
	case amf0.Object:
		return fmt.Sprintf("{%s}", plural(int64(len(v)), "value"))
	case amf0.TypedObject:
		return fmt.Sprintf("{%s}", plural(int64(len(v.Properties)), "value"))
	case amf0.ECMAArray:
		return fmt.Sprintf("{%s}", plural(int64(len(v)), "value"))
	case amf0.StrictArray:
		return fmt.Sprintf("[%s]", plural(int64(len(v)), "value"))
	case nil:
		return "null"
	case bool:
		return fmt.Sprint(v)
	}
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", v), "amf0."))
}

// brief is a string that a file has, made harmless for a terminal.
func brief(s string) string {
	if len(s) > mostText {
		s = s[:mostText] + "..."
	}
	q := fmt.Sprintf("%+q", s)
	if q == `"`+s+`"` && s != "" && !strings.Contains(s, " ") {
		return s
	}
	return q
}

// Problems says what is wrong with the file, one sentence each; none is an
// empty list.
func (r Report) Problems() []string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if t := r.Truncated; t != nil {
		add("the file ends inside the tag at byte %d, of which it has %s", t.Offset, plural(t.Bytes, "byte"))
	}
	if r.Broken != "" {
		add("%s; what follows was not looked at", strings.TrimPrefix(r.Broken, "flv: "))
	}
	if r.Tags.Unsized > 0 {
		add("the size after the last tag is missing")
	}
	if n := r.Tags.WrongSizes; n > 0 {
		add("%s with another size after it", plural(n, "tag"))
	}
	if n := r.Tags.Unknown; n > 0 {
		add("%s of an unknown type", plural(n, "tag"))
	}
	if n := r.Script.Malformed; n > 0 {
		add("%s with script data that cannot be read", plural(n, "tag"))
	}
	announced := func(track string, said, is bool) {
		switch {
		case said && !is:
			add("the file's header announces %s, and there is none", track)
		case is && !said:
			add("the file's header does not announce the %s that follows", track)
		}
	}
	announced("video", r.Header.Video, r.Video != nil)
	announced("audio", r.Header.Audio, r.Audio != nil)
	if v := r.Video; v != nil {
		all = v.problems(all, "video", v.ConfigError)
		if v.Packets > 0 && v.KeyFrames == 0 {
			add("video: no key frame")
		}
		if c := v.Codec; v.Packets > 0 && v.Configs == 0 && (c == CodecAVC || c == CodecHEVC) {
			add("video: no sequence header")
		}
	}
	if a := r.Audio; a != nil {
		all = a.problems(all, "audio", a.ConfigError)
		if a.Packets > 0 && a.Configs == 0 && a.Codec == CodecAAC {
			add("audio: no sequence header")
		}
	}
	for _, j := range r.Jumps {
		add("%s: time goes from %s to %s at byte %d", j.Track, seconds(j.From), seconds(j.To), j.Offset)
	}
	return all
}

func (t *TrackReport) problems(all []string, track, config string) []string {
	add := func(n int64, what string) {
		if n > 0 {
			all = append(all, fmt.Sprintf("%s: %s", track, plural(n, what)))
		}
	}
	add(t.Malformed, "malformed packet")
	if config != "" {
		all = append(all, fmt.Sprintf("%s: a sequence header: %s", track, strings.TrimPrefix(config, "flv: ")))
	}
	add(t.Changes, "packet of another codec")
	add(t.Backward, "step of time back")
	add(t.Gaps, "gap in time")
	return all
}

func form(enhanced bool) string {
	if enhanced {
		return " (enhanced)"
	}
	return ""
}

func seconds(ms int64) string { return fmt.Sprintf("%.3f s", float64(ms)/1000) }

func rate(bits int64) string {
	if bits >= 1e6 {
		return fmt.Sprintf("%.2f Mbit/s", float64(bits)/1e6)
	}
	return fmt.Sprintf("%.1f kbit/s", float64(bits)/1e3)
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if head, tail, ok := strings.Cut(what, " of "); ok {
		return fmt.Sprintf("%d %ss of %s", n, head, tail)
	}
	if head, tail, ok := strings.Cut(what, " in "); ok {
		return fmt.Sprintf("%d %ss in %s", n, head, tail)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
