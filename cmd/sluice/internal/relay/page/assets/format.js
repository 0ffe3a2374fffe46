// Numbers as people read them. Anything that is not a number is shown as "–".

const none = "–";
const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

function scaled(n, base, units) {
  if (!Number.isFinite(n)) return none;
  let i = 0;
  while (Math.abs(n) >= base && i < units.length - 1) {
    n /= base;
    i++;
  }
  const digits = i === 0 || Math.abs(n) >= 100 ? 0 : Math.abs(n) >= 10 ? 1 : 2;
  return `${n.toFixed(digits)} ${units[i]}`;
}

export const bytes = (n) => scaled(n, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
export const bitrate = (n) => scaled(n, 1000, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]);
export const count = (n) => (Number.isFinite(n) ? plain.format(n) : none);
export const rate = (n) => (Number.isFinite(n) ? `${n.toFixed(n < 100 ? 1 : 0)} fps` : none);
export const milliseconds = (n) => (Number.isFinite(n) ? (n < 1000 ? `${Math.round(n)} ms` : `${(n / 1000).toFixed(1)} s`) : none);
export const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;

// readable shows what would be invisible or turn the text around it, such as
// control characters and changes of direction, by its number.
export const readable = (s) =>
  s.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (c) => "\\u" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0"));

// at says on which node of a cluster something is.
export const at = (node) => (node ? ` @${readable(node)}` : "");

// duration of seconds: 42 s, 3 min 5 s, 2 h 10 min, 4 d 3 h.
export function duration(s) {
  if (!Number.isFinite(s)) return none;
  s = Math.max(0, Math.floor(s));
  const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const i = Math.max(0, parts.findIndex(([size]) => s >= size));
  if (s === 0) return "0 s";
  const [size, unit] = parts[i];
  const rest = Math.floor((s % size) / (parts[i + 1]?.[0] ?? 1));
  return `${Math.floor(s / size)} ${unit}` + (i < 3 && rest > 0 ? ` ${rest} ${parts[i + 1][1]}` : "");
}

// age of something that began at an RFC 3339 time, by the server's clock.
export const age = (since, now) => duration((now - Date.parse(since)) / 1000);

const codecs = {
  avc1: "H.264", hvc1: "H.265", vvc1: "H.266", av01: "AV1", vp08: "VP8", vp09: "VP9",
  mp4a: "AAC", ".mp3": "MP3", "opus": "Opus", "Opus": "Opus", "fLaC": "FLAC", "ac-3": "AC-3", "ec-3": "E-AC-3",
};
export const codec = (name) => codecs[name] ?? name ?? none;

export function video(v) {
  if (!v?.codec) return none;
  return v.width > 0 && v.height > 0 ? `${codec(v.codec)}, ${v.width}×${v.height}` : codec(v.codec);
}

export function audio(a) {
  if (!a?.codec) return none;
  const channels = a.channels === 1 ? ", mono" : a.channels === 2 ? ", stereo" : a.channels > 2 ? `, ${a.channels} channels` : "";
  return codec(a.codec) + (a.rate > 0 ? `, ${a.rate / 1000} kHz` : "") + channels;
}

const names = { rtmp: "RTMP", rtmps: "RTMPS", flv: "HTTP-FLV", flvs: "HTTPS-FLV", ws: "WebSocket", wss: "WebSocket, TLS", rtsp: "RTSP", rtsps: "RTSPS", hls: "HLS", hlss: "HLS, TLS", whip: "WHIP", whep: "WHEP", http: "HTTP-FLV", https: "HTTPS-FLV" };
export const protocol = (p) => names[p] ?? p ?? none;

// protocols of the viewers: "2 RTMP, 1 WebSocket".
export function protocols(byName) {
  const some = Object.entries(byName ?? {}).filter(([, n]) => n > 0);
  return some.map(([name, n]) => `${count(n)} ${protocol(name)}`).join(", ");
}
