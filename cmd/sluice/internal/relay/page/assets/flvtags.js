// Takes FLV apart, enhanced RTMP's forms included: bytes in, samples out.

const fourccs = { 7: "avc1", 12: "hvc1" }; // of the old codec numbers
const sounds = { 2: ".mp3", 10: "mp4a" };
const text = (b, at, n) => String.fromCharCode(...b.subarray(at, at + n));
const u24 = (b, at) => (b[at] << 16) | (b[at + 1] << 8) | b[at + 2];

export class FLVTags {
  #left = new Uint8Array(0);
  #begun = false;
  #tracks = {}; // the first track of each kind

  // push takes bytes and calls each with {kind, codec, config} or {kind, codec,
  // data, dts, cts, key}, in ms. It throws for what is no FLV.
  push(bytes, each) {
    let b = bytes;
    if (this.#left.length) {
      b = new Uint8Array(this.#left.length + bytes.length);
      b.set(this.#left);
      b.set(bytes, this.#left.length);
    }
    let at = 0;
    if (!this.#begun) {
      if (b.length < 13) return void (this.#left = b);
      if (text(b, 0, 3) !== "FLV") throw new Error("not FLV");
      this.#begun = true;
      at = 13;
    }
    while (b.length - at >= 11) {
      const size = u24(b, at + 1);
      if (b.length - at < size + 15) break;
      const dts = u24(b, at + 4) + b[at + 7] * 2 ** 24;
      const body = b.subarray(at + 11, at + 11 + size);
      if (size > 1 && b[at] === 9) this.#video(body, dts, each);
      if (size > 1 && b[at] === 8) this.#audio(body, dts, each);
      at += size + 15;
    }
    this.#left = b.slice(at);
  }

  #video(b, dts, each) {
    const key = ((b[0] >> 4) & 7) === 1;
    if (((b[0] >> 4) & 7) === 5) return; // a command
    if (b[0] & 0x80) return this.#enhanced("video", b, 6, dts, key, each);
    const codec = fourccs[b[0] & 15] ?? `codec ${b[0] & 15}`;
    if (b[1] === 0) each({ kind: "video", codec, config: b.slice(5) });
    if (b[1] === 1) each({ kind: "video", codec, data: b.slice(5), dts, cts: (u24(b, 2) << 8) >> 8, key });
  }

  #audio(b, dts, each) {
    const format = b[0] >> 4;
    if (format === 9) return this.#enhanced("audio", b, 5, dts, true, each);
    const codec = sounds[format] ?? `codec ${format}`;
    if (format === 10 && b[1] === 0) return each({ kind: "audio", codec, config: b.slice(2) });
    each({ kind: "audio", codec, data: b.slice(format === 10 ? 2 : 1), dts, cts: 0, key: true });
  }

  // Packet types of both kinds: 0 configuration, 1 frames, 3 frames without a
  // composition time, 7 more of the header, and several tracks.
  #enhanced(kind, b, several, dts, key, each) {
    let type = b[0] & 15;
    let at = 1;
    while (type === 7) {
      let n = b[at++] + 1;
      if (n === 256) { n = ((b[at] << 8) | b[at + 1]) + 1; at += 2; }
      at += n;
      type = b[at++] & 15;
    }
    if (type !== several) return this.#packet(kind, type, text(b, at, 4), b.subarray(at + 4), dts, key, each);
    const form = b[at] >> 4; // 0 one track, 1 many of one codec, 2 many of many
    type = b[at++] & 15;
    let codec = "";
    if (form !== 2) { codec = text(b, at, 4); at += 4; }
    while (at < b.length) {
      if (form === 2) { codec = text(b, at, 4); at += 4; }
      const track = b[at++];
      let n = b.length - at;
      if (form !== 0) { n = u24(b, at); at += 3; }
      this.#tracks[kind] ??= track;
      if (this.#tracks[kind] === track) this.#packet(kind, type, codec, b.subarray(at, at + n), dts, key, each);
      at += n;
    }
  }

  #packet(kind, type, codec, b, dts, key, each) {
    if (type === 0) each({ kind, codec, config: b.slice() });
    if (type !== 1 && type !== 3) return; // metadata, ends: not for the decoder
    const composed = kind === "video" && type === 1 && (codec === "avc1" || codec === "hvc1");
    each({ kind, codec, data: b.slice(composed ? 3 : 0), dts, cts: composed ? (u24(b, 0) << 8) >> 8 : 0, key });
  }
}
