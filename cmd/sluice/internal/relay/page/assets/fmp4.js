// Writes fragmented MP4 (ISO/IEC 14496-12) for Media Source Extensions: one track
// a file, times in ms.

const bytes = (...parts) => {
  const list = parts.map((p) => (typeof p === "number" ? [p] : typeof p === "string" ? [...p].map((c) => c.charCodeAt(0)) : p));
  const out = new Uint8Array(list.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of list) { out.set(p, at); at += p.length; }
  return out;
};
const u16 = (n) => [(n >> 8) & 255, n & 255];
const u32 = (n) => [(n >>> 24) & 255, (n >>> 16) & 255, (n >>> 8) & 255, n & 255];
const zeros = (n) => new Uint8Array(n);
const box = (type, ...parts) => {
  const body = bytes(...parts);
  return bytes(u32(body.length + 8), type, body);
};
const full = (type, flags, ...parts) => box(type, u32(flags), ...parts);
const hex = (n, width = 2) => n.toString(16).toUpperCase().padStart(width, "0");
const two = (n) => String(n).padStart(2, "0");

// descriptor is one of MPEG-4 systems, shorter than 128 bytes.
const descriptor = (tag, ...parts) => {
  const body = bytes(...parts);
  return bytes(tag, body.length, body);
};
const esds = (object, config) => full("esds", 0, descriptor(3, u16(1), 0,
  descriptor(4, object, 0x15, zeros(11), config.length ? descriptor(5, config) : []), descriptor(6, 2)));

// The codecs: parameter is what browsers are asked for, entry the box with the
// configuration.
const codecs = {
  avc1: (c) => ({ parameter: `avc1.${hex(c[1])}${hex(c[2])}${hex(c[3])}`, entry: box("avcC", c) }),
  hvc1: (c) => {
    let compatible = 0;
    for (let i = 0; i < 32; i++) if (c[2 + (i >> 3)] & (0x80 >> (i & 7))) compatible += 2 ** i;
    const constraints = [...c.subarray(6, 12)];
    while (constraints.length && !constraints.at(-1)) constraints.pop();
    const parts = [`${["", "A", "B", "C"][c[1] >> 6]}${c[1] & 31}`, compatible.toString(16), `${c[1] & 32 ? "H" : "L"}${c[12]}`, ...constraints.map((n) => n.toString(16))];
    return { parameter: `hvc1.${parts.join(".")}`, entry: box("hvcC", c) };
  },
  av01: (c) => ({ parameter: `av01.${c[1] >> 5}.${two(c[1] & 31)}${c[2] & 0x80 ? "H" : "M"}.${c[2] & 0x40 ? (c[2] & 0x20 ? "12" : "10") : "08"}`, entry: box("av1C", c) }),
  vp09: (c) => {
    const p = c.length >= 12 && c[0] === 1 && !c[1] && !c[2] && !c[3] ? c.subarray(4) : c; // some have the version
    return { parameter: `vp09.${two(p[0])}.${two(p[1] || 10)}.${two(p[2] >> 4)}`, entry: full("vpcC", 1 << 24, p) };
  },
  mp4a: (c) => {
    const rates = [96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350];
    return { parameter: `mp4a.40.${c[0] >> 3}`, entry: esds(0x40, c), rate: rates[((c[0] & 7) << 1) | (c[1] >> 7)], channels: (c[1] >> 3) & 15 };
  },
  ".mp3": () => ({ parameter: "mp3", sample: "mp4a", entry: esds(0x6b, []) }),
  Opus: (c) => {
    const h = String.fromCharCode(...c.subarray(0, 8)) === "OpusHead" ? c.subarray(8) : c;
    const swapped = [0, h[1], h[3], h[2], h[7], h[6], h[5], h[4], h[9], h[8], ...h.subarray(10)];
    return { parameter: "opus", entry: box("dOps", swapped), rate: 48000, channels: h[1] };
  },
  fLaC: (c) => {
    const info = String.fromCharCode(...c.subarray(0, 4)) === "fLaC" ? c.subarray(4) : c;
    const block = bytes(0x80, info.subarray(1, 38)); // STREAMINFO, the last of its kind
    return { parameter: "flac", entry: full("dfLa", 0, block), rate: (block[14] << 12) | (block[15] << 4) | (block[16] >> 4), channels: ((block[16] >> 1) & 7) + 1 };
  },
};

// describe returns what a track is from its configuration: {mime, init}, or null
// for a codec that is not known here.
export function describe(kind, codec, config, size = {}) {
  if (!codecs[codec]) return null;
  // Browsers refuse 0 × 0, and take the true size from the frames, but the shape from here.
  const width = size.width || 640;
  const height = size.height || 360;
  const c = codecs[codec](config);
  const sample = c.sample ?? codec;
  const video = kind === "video";
  const entry = video
    ? box(sample, zeros(6), u16(1), zeros(16), u16(width), u16(height), u32(0x480000), u32(0x480000), u32(0), u16(1), zeros(32), u16(24), u16(0xffff), c.entry)
    : box(sample, zeros(6), u16(1), zeros(8), u16(c.channels ?? 2), u16(16), u32(0), u16(c.rate ?? 44100), u16(0), c.entry);
  const matrix = [u32(0x10000), zeros(12), u32(0x10000), zeros(12), u32(0x40000000)];
  const init = bytes(
    box("ftyp", "iso5", u32(512), "iso5", "iso6", "mp41"),
    box("moov",
      full("mvhd", 0, zeros(8), u32(1000), u32(0), u32(0x10000), u16(0x100), zeros(10), ...matrix, zeros(24), u32(2)),
      box("trak",
        full("tkhd", 3, zeros(8), u32(1), zeros(4), u32(0), zeros(8), zeros(4), u16(video ? 0 : 0x100), zeros(2), ...matrix, u16(width), zeros(2), u16(height), zeros(2)),
        box("mdia",
          full("mdhd", 0, zeros(8), u32(1000), u32(0), u16(0x55c4), zeros(2)),
          full("hdlr", 0, zeros(4), video ? "vide" : "soun", zeros(12), "\0"),
          box("minf", video ? full("vmhd", 1, zeros(8)) : full("smhd", 0, zeros(4)),
            box("dinf", full("dref", 0, u32(1), full("url ", 1))),
            box("stbl", full("stsd", 0, u32(1), entry), full("stts", 0, u32(0)), full("stsc", 0, u32(0)), full("stsz", 0, u32(0), u32(0)), full("stco", 0, u32(0)))))),
      box("mvex", full("trex", 0, u32(1), u32(1), zeros(12)))));
  return { mime: `${kind}/mp4; codecs="${c.parameter}"`, init };
}

// fragment returns samples, each with its duration, as one movie fragment.
export function fragment(number, samples) {
  const run = samples.map((s) => bytes(u32(s.duration), u32(s.data.length), u32(s.key ? 0x02000000 : 0x01010000), u32(s.cts)));
  const moof = (offset) => box("moof", full("mfhd", 0, u32(number)),
    box("traf", full("tfhd", 0x20000, u32(1)),
      full("tfdt", 1 << 24, u32(Math.floor(samples[0].dts / 2 ** 32)), u32(samples[0].dts)),
      full("trun", 0x1000f01, u32(samples.length), u32(offset), ...run)));
  return bytes(moof(moof(0).length + 8), box("mdat", ...samples.map((s) => s.data)));
}
