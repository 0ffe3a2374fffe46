// The numbers of the server and of one stream.
import { where } from "./cluster.js";
import { byId, setText, terms } from "./dom.js";
import * as f from "./format.js";

const sum = (list, of) => list.reduce((total, x) => total + (of(x) || 0), 0);

export function server({ server, memory, streams }) {
  terms(byId("server"), [
    ["Version", server?.version || "–"],
    ["Up", f.duration(server?.uptime_s)],
    ["Allocator", `${f.bytes(memory?.out)} in use`, `Memory for media: ${f.bytes(memory?.out)} in use, ${f.bytes(memory?.idle)} kept for reuse, ${f.bytes(memory?.pinned)} held by small parts`],
    ["Resident", f.bytes(server?.resident), "Memory of the whole process"],
    ["Viewers", f.count(sum(streams, (s) => s.viewers))],
    ["In", f.bitrate(sum(streams, (s) => s.bitrate_in))],
    ["Out", f.bitrate(sum(streams, (s) => s.bitrate_out))],
  ]);
}

const states = { live: "Live", grace: "Publisher gone; kept for the moment" };

export function state(s, now) {
  const e = byId("state");
  e.dataset.state = s?.state ?? "none";
  setText(e, s ? `${states[s.state] ?? s.state}${s.state === "live" && s.since ? ` for ${f.age(s.since, now)}` : ""}` : "Not live");
}

export function stream(s, now) {
  if (!s) {
    terms(byId("numbers"), []);
    return;
  }
  const p = s.publisher;
  const by = f.protocols(s.protocols);
  terms(byId("numbers"), [
    ["Viewers", f.count(s.viewers) + (by ? `: ${by}` : "")],
    ["Bitrate in", f.bitrate(s.bitrate_in)],
    ["Bitrate out", f.bitrate(s.bitrate_out), "To all viewers together"],
    ["Frame rate", f.rate(s.frame_rate)],
    ["Video", f.video(s.video)],
    ["Audio", f.audio(s.audio)],
    ["GOP", s.gop?.frames ? `${f.plural(s.gop.frames, "frame")}, ${f.milliseconds(s.gop.ms)}, ${f.bytes(s.gop.bytes)}` : "–", "What a new viewer gets first: from the newest key frame on"],
    ["In memory", s.ring ? `${f.plural(s.ring.frames, "frame")}, ${f.bytes(s.ring.bytes)}` : "–", "Kept in memory for viewers who are behind"],
    ["Merge", f.milliseconds(s.merge_ms), "How long sends are gathered"],
    ["Dropped", f.plural(s.dropped, "frame"), "Frames that slow viewers did not get"],
    ["Jumps", f.count(s.jumps), "Times that a slow viewer was put forward to the newest key frame"],
    ["Evicted", f.plural(s.evicted, "viewer"), "Viewers who were closed because they stayed behind"],
    ["Received", `${f.bytes(s.bytes_in)}, ${f.plural(s.frames_in, "frame")}`],
    ["Sent", `${f.bytes(s.bytes_out)}, ${f.plural(s.frames_out, "frame")}`],
    ...(where(s) ? [["Nodes", where(s), "That have the stream"]] : []),
    ["Publisher", p ? `${p.address || "–"}, ${f.protocol(p.protocol)}${p.since ? `, for ${f.age(p.since, now)}` : ""}` : "gone"],
  ]);
}
