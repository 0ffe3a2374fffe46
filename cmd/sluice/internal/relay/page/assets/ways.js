// The ways a stream can be played here, and what each protocol carries.
import { playable } from "./hlsplay.js";

const hasMSE = () => Boolean(window.MediaSource);

// ways in the order in which they are tried: the least delay first. Each says whether
// this browser and this server have it.
const ways = [
  // What browsers publish by WHIP has no B-frames, which browsers do not show this way.
  { id: "whep", can: (config, stream) => config.webrtc && "RTCPeerConnection" in window && stream?.publisher?.protocol === "whip" && !without("whep", stream) && received(stream) },
  { id: "flv", can: () => hasMSE() },
  { id: "ws", can: () => hasMSE() && "WebSocket" in window },
  { id: "hls", can: (config, stream) => config.hls && playable() && carried("hls", stream).includes(stream?.video ? "video" : "audio") },
];

// wayFor returns the way to play by: the one chosen, or else the best that was not tried
// in vain; "" when none is left. past: what was recorded, which WebRTC does not have, and
// HLS can go about in, but only as a whole.
export function wayFor(chosen, config, stream, tried, past = false) {
  if (past) {
    const list = ["hls", "flv", "ws"].map((id) => ways.find((w) => w.id === id)).filter((w) => w.can(config, stream) && !(w.id === "hls" && without("hls", stream)));
    if (list.some((w) => w.id === chosen)) return chosen;
    return list.find((w) => !tried.has(w.id))?.id ?? "";
  }
  if (chosen !== "auto") return chosen;
  return ways.find((w) => !tried.has(w.id) && w.can(config, stream))?.id ?? "";
}

// forms say which codecs a protocol has a form for; what is not here takes all.
const forms = {
  hls: (codec) => ["avc1", "hvc1", "av01", "mp4a", "Opus", "fLaC"].includes(codec),
  rtsp: (codec) => codec !== "fLaC",
  srt: (codec) => ["avc1", "hvc1", "mp4a", "Opus", ".mp3", "ac-3"].includes(codec),
  whep: (codec) => ["avc1", "hvc1", "av01", "vp09", "Opus"].includes(codec),
};

const types = { avc1: "video/h264", hvc1: "video/h265", av01: "video/av1", vp09: "video/vp9", Opus: "audio/opus" };

// received reports whether this browser takes all of a stream by WebRTC, as far as it says: Firefox has
// H.264 there by a plug-in only, which it may lack.
const received = (stream) => ["video", "audio"].every((kind) => {
  const list = stream?.[kind] && window.RTCRtpReceiver?.getCapabilities?.(kind)?.codecs;
  return !list || list.some((c) => c.mimeType.toLowerCase() === types[stream[kind].codec]);
});

// carried returns the kinds of tracks of a stream that a protocol carries; of a stream of
// which nothing is known, both.
export function carried(protocol, stream) {
  const known = ["video", "audio"].filter((kind) => stream?.[kind]);
  if (known.length === 0) return ["video", "audio"];
  const form = forms[protocol] ?? (() => true);
  return known.filter((kind) => form(stream[kind].codec));
}

// classic reports whether FLV without enhanced RTMP, of which VLC 3 does not know, has each codec of a stream.
export const classic = (stream) => [stream?.video, stream?.audio].every((track) => !["hvc1", "av01", "vp09", "Opus", "fLaC", "ac-3"].includes(track?.codec));

// without says in words what a protocol leaves out of a stream.
export function without(protocol, stream) {
  const there = carried(protocol, stream);
  const left = ["video", "audio"].filter((kind) => stream?.[kind] && !there.includes(kind));
  return left.map((kind) => (kind === "video" ? "the picture" : "the sound")).join(" and ");
}
