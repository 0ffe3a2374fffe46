//go:build linux

package realtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	srt "github.com/datarhei/gosrt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hlstest"
)

// openSRT connects with a latency that is more than a busy machine stands still.
func openSRT(t testing.TB, address, id string) (srt.Conn, error) {
	c := srt.DefaultConfig()
	c.StreamId = id
	c.ReceiverLatency, c.PeerLatency = time.Second, time.Second
	c.ConnectionTimeout, c.PeerIdleTimeout = lengthened(15*time.Second), lengthened(15*time.Second)
	conn, err := srt.Dial("srt", address, c)
	if err == nil {
		t.Cleanup(func() { conn.Close() })
	}
	return conn, err
}

// transportStream is a source as a transport stream.
func (s *mediaSource) transportStream(t testing.TB) ([]byte, error) {
	file := filepath.Join(t.TempDir(), "source.ts")
	args := []string{"-loglevel", "error", "-i", s.file}
	if s.video != nil {
		args = append(args, "-map", "0:v")
	}
	if s.audio != nil {
		args = append(args, "-map", "0:a")
	}
	p := ffmpeg(t, append(args, "-c", "copy", "-f", "mpegts", "-pes_payload_size", "0", "-muxdelay", "0.1", file)...)
	if code := p.wait(t, lengthened(30*time.Second)); code != 0 {
		return nil, fmt.Errorf("ffmpeg: %d: %s", code, p.stderr.tail(5))
	}
	return os.ReadFile(file)
}

// readRecorded has ffprobe read what a player has got.
func readRecorded(t testing.TB, name string, p []byte) (video, audio []played, err error) {
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, p, 0o600); err != nil {
		return nil, nil, err
	}
	v, a, err := readMedia(file)
	return v.sums(), a.sums(), err
}

// playSRT begins to play, as playWHEP.
func playSRT(t testing.TB, address, stream string) (count func() int, end func() (video, audio []played, err error), err error) {
	conn, err := openSRT(t, address, "#!::r="+stream+",m=request")
	if err != nil {
		return nil, nil, err
	}
	var n atomic.Int64
	var all []byte
	var failure error
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			got, err := conn.Read(buf)
			if err != nil {
				failure = err
				return
			}
			all = append(all, buf[:got]...)
			n.Add(int64(got))
		}
	}()
	return func() int { return int(n.Load()) }, func() (video, audio []played, err error) {
		<-done
		if len(all) == 0 {
			return nil, nil, fmt.Errorf("nothing came: %w", failure)
		}
		return readRecorded(t, "played.ts", all)
	}, nil
}

// playHLS plays a stream by HLS to its end, segments or, with low latency, parts.
func playHLS(t testing.TB, address string, low bool) (video, audio []played, err error) {
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: lengthened(time.Minute)}
	defer client.CloseIdleConnections()
	v := &hlsViewer{client: client}
	ctx := context.Background()
	base, err := url.Parse(address)
	if err != nil {
		return nil, nil, err
	}
	text, err := v.get(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	lines := strings.Fields(text)
	media, err := base.Parse(lines[len(lines)-1])
	if err != nil {
		return nil, nil, err
	}
	var all []byte
	head, had, position := "", map[string]bool{}, ""
	fetch := func(name string) error {
		if had[name] {
			return nil
		}
		had[name] = true
		one, err := media.Parse(name)
		if err != nil {
			return err
		}
		text, err := v.get(ctx, one.String())
		all = append(all, text...)
		return err
	}
	tick := time.NewTicker(150 * time.Millisecond)
	defer tick.Stop()
	for {
		text, err := v.get(ctx, media.String()+position)
		if low && err != nil && strings.Contains(err.Error(), "503") {
			continue // the publisher waits for others
		}
		if err != nil {
			return nil, nil, err
		}
		p, err := hlstest.Parse(text)
		if err != nil {
			return nil, nil, err
		}
		number, part := p.Sequence+len(p.Segments), 0
		for _, s := range p.Segments {
			if s.Map != head && head != "" || s.Discontinuity {
				return nil, nil, errors.New("a discontinuity")
			}
			head = s.Map
			if err := fetch(head); err != nil {
				return nil, nil, err
			}
			if !low {
				if s.URI != "" {
					err = fetch(s.URI)
				}
			} else {
				for _, one := range s.Parts {
					if err == nil {
						err = fetch(one.URI)
					}
				}
				if s.URI == "" {
					number, part = number-1, len(s.Parts)
				}
			}
			if err != nil {
				return nil, nil, err
			}
		}
		if p.End {
			return readRecorded(t, "played.mp4", all)
		}
		if low {
			position = fmt.Sprintf("&_HLS_msn=%d&_HLS_part=%d", number, part)
		} else {
			<-tick.C
		}
	}
}

// An srtPublisher sends a transport stream.
type srtPublisher struct {
	conn srt.Conn
	data []byte
}

// send sends up to a share of all, evenly over a time.
func (p *srtPublisher) send(share float64, whole int, in time.Duration) error {
	const datagram = 7 * 188
	end := int(share*float64(whole)) / datagram * datagram
	if share == 1 {
		end = whole
	}
	sent := whole - len(p.data)
	n := (end - sent + datagram - 1) / datagram
	if n <= 0 {
		return nil
	}
	tick := time.NewTicker(max(in/time.Duration(n), time.Millisecond))
	defer tick.Stop()
	for ; sent < end; sent += datagram {
		k := min(datagram, end-sent)
		if _, err := p.conn.Write(p.data[:k]); err != nil && err != io.EOF {
			return err
		}
		p.data = p.data[k:]
		<-tick.C
	}
	return nil
}
