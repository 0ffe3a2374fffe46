package page

import (
	"context"
	"testing"
)

// Of several tracks of a kind one is played, that with the lowest number. Encoders send the first one as if it were the
// only one, and say a number of the others alone.
func oneTrackOfFLV(t *testing.T, chromium context.Context) {
	b := open(t, chromium, newFakeServer(t, Options{}), "/", desktop, false)
	value[bool](b, `(import("/assets/flvtags.js").then(({ FLVTags }) => {
		const plain = (n) => [8, 0xaf, 1, n], one = (track, n) => [8, 0x95, 1, ...utf("mp4a"), track, n], picture = (n) => [9, 0x27, 1, 0, 0, 0, n];
		const enhanced = (n) => [8, 0x91, ...utf("mp4a"), n], other = (track, n) => [9, 0xa6, 1, ...utf("avc1"), track, 0, 0, 0, n];
		const utf = (text) => [...text].map((c) => c.charCodeAt(0));
		window.taken = [[plain(1), one(1, 2), plain(3), one(2, 4)], [one(1, 2), enhanced(1), one(1, 4), enhanced(3)], [picture(1), other(1, 2), picture(3)], [other(3, 1), other(5, 2), other(3, 3)]].map((tags) => {
			const list = [];
			const bytes = tags.flatMap(([kind, ...body]) => [kind, 0, 0, body.length, ...new Array(7).fill(0), ...body, 0, 0, 0, body.length + 11]);
			new FLVTags().push(Uint8Array.from([...utf("FLV"), 1, 5, 0, 0, 0, 9, 0, 0, 0, 0, ...bytes]), ({ data }) => list.push(data.at(-1)));
			return list.join();
		}).join(" ");
	}), true)`)
	b.until(`window.taken`)
	if got, want := value[string](b, `window.taken`), "1,3 2,1,3 1,3 1,3"; got != want {
		t.Errorf("the frames %s are taken, want %s", got, want)
	}
}

// The configuration of FLAC has what a file begins with, or one block without what stands before it, as ffmpeg sends it.
func configurationsOfFLAC(t *testing.T, chromium context.Context) {
	b := open(t, chromium, newFakeServer(t, Options{}), "/", desktop, false)
	value[bool](b, `(import("/assets/fmp4.js").then(({ describe }) => {
		const info = Array.from({ length: 34 }, (_, i) => i + 1), block = [0x80, 0, 0, 34, ...info], file = [0x66, 0x4c, 0x61, 0x43, ...block];
		window.headers = [file, block, info].map((c) => describe("audio", "fLaC", Uint8Array.from(c)).init.join());
		window.has = window.headers[0].includes([100, 102, 76, 97, 0, 0, 0, 0, ...block].join());
	}), true)`)
	b.until(`window.headers`)
	if !value[bool](b, `window.has`) {
		t.Error("the header does not have the configuration")
	}
	if !value[bool](b, `window.headers.every((h) => h === window.headers[0])`) {
		t.Error("headers of the same sound differ")
	}
}
