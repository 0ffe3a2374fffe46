package feed

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// copied publishes these units to a stream, copies it with pack, and returns what comes out
// and why the copy has ended.
func copied(t *testing.T, units []string, pack func(u *au.Unit) (mem.Buf, error)) (got []string, err error) {
	t.Helper()
	sluicetest.NoLeaks(t, nil)
	hub := live.NewHub(live.HubOptions{})
	defer hub.Close()
	p, err := hub.Publish("live/s", live.PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, what := range units {
		f := live.Frame{Type: flv.TagVideo, Time: uint32(40 * i)}
		body := []byte{0x27, 1, 0, 0, 0, 0, 0, 0, 2, 0x41, byte(i)}
		switch what {
		case "key":
			body[0], body[9] = 0x17, 0x65
		case "header", "other header": // with a level of its own
			body = []byte{0x17, 0, 0, 0, 0, 1, 66, 0, byte(10 + len(what)), 0xff, 0xe1, 0, 2, 0x67, 1, 1, 0, 2, 0x68, 1}
		case "sound":
			f.Type, body = flv.TagAudio, []byte{0x72, byte(i)} // A-law
		}
		f.Payload = mem.Wrap(body, nil)
		if err := p.Publish(f); err != nil {
			t.Fatal(err)
		}
	}
	out := live.NewHub(live.HubOptions{Stream: live.StreamOptions{Packets: true, MaxFrame: 10}})
	defer out.Close()
	to, err := out.Publish("packets", live.PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	from, err := p.Stream().NewReader(live.ReaderOptions{FromStart: true})
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	p.Close()
	err = Copy(t.Context(), from, to, func(u *au.Unit) (mem.Buf, error) {
		number := u.Parts[0][len(u.Parts[0])-1]
		b, err := pack(u)
		if err == nil && b.Valid() && b.Len() <= 10 {
			got = append(got, units[number])
		}
		return b, err
	}, func(flv.FourCC) { got = append(got, "bare") })
	return got, err
}

// Where memory is short, or a picture too long, nothing is sent that cannot be decoded, and
// the copy goes on at the next key frame.
func TestCopyWithoutMemoryGoesOn(t *testing.T) {
	units := []string{"header", "key", "picture", "too long", "picture", "sound", "key", "no memory", "sound", "picture", "key", "picture"}
	n := 0
	got, err := copied(t, units, func(u *au.Unit) (mem.Buf, error) {
		what := units[u.Parts[0][len(u.Parts[0])-1]]
		n++
		switch what {
		case "no memory":
			return mem.Buf{}, fmt.Errorf("%w: none", mem.ErrBudget)
		case "too long":
			return mem.Wrap(make([]byte, 11), nil), nil
		}
		return mem.Wrap([]byte{1}, nil), nil
	})
	if want := []string{"key", "picture", "sound", "key", "sound", "key", "picture"}; err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	// Two more were tried, and two were not: pictures behind them.
	if n != len(units)-3 {
		t.Errorf("%d of %d units were packed", n, len(units))
	}
}

// Pictures behind other parameters are decoded from the next key frame on; a header that says the
// same once more changes nothing.
func TestCopyWaitsForAKeyFrameBehindAnotherHeader(t *testing.T) {
	units := []string{"header", "key", "picture", "header", "picture", "other header", "picture", "sound", "picture", "key", "picture", "other header", "picture"}
	got, err := copied(t, units, func(*au.Unit) (mem.Buf, error) { return mem.Wrap([]byte{1}, nil), nil })
	if want := []string{"key", "picture", "picture", "sound", "key", "picture", "picture"}; err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// Pictures before the first header cannot be decoded: they are left out, which is said once, up to the key frame
// behind it.
func TestCopyLeavesOutPicturesWithoutAHeader(t *testing.T) {
	units := []string{"key", "sound", "picture", "key", "header", "picture", "key", "picture"}
	got, err := copied(t, units, func(*au.Unit) (mem.Buf, error) { return mem.Wrap([]byte{1}, nil), nil })
	if want := []string{"bare", "sound", "key", "picture"}; err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// Units from before a change, at the beginning, are passed over; a change ends the copy.
func TestCopyEndsWhenTheStreamHasChanged(t *testing.T) {
	units := []string{"sound", "header", "key", "sound", "picture", "sound"}
	got, err := copied(t, units, func(u *au.Unit) (mem.Buf, error) {
		switch number := u.Parts[0][len(u.Parts[0])-1]; number {
		case 0, 5:
			return mem.Buf{}, fmt.Errorf("%w: for the test", au.ErrChanged)
		case 4:
			return mem.Buf{}, nil // left out
		}
		return mem.Wrap([]byte{1}, nil), nil
	})
	if !errors.Is(err, au.ErrChanged) || fmt.Sprint(got) != "[key sound]" {
		t.Errorf("%v, %v", got, err)
	}
}

// The end of its users is no error of a copy.
func TestCopyThatIsNotUsedAnyMore(t *testing.T) {
	hub := live.NewHub(live.HubOptions{})
	defer hub.Close()
	p, err := hub.Publish("live/s", live.PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	from, err := p.Stream().NewReader(live.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Copy(ctx, from, p, nil, nil); err != nil {
		t.Error(err)
	}
}
