// Plays what mpegts.js cannot: AV1, VP9, Opus, FLAC, several tracks. It has the
// part of mpegts.js' interface that the player uses.
import { FLVTags } from "./flvtags.js";
import { describe, fragment } from "./fmp4.js";

const together = 1500; // ms that the first track waits for the other

export class Engine {
  #source; #video; #media = new MediaSource(); #abort = new AbortController(); #socket = null;
  #tags = new FLVTags(); #tracks = {}; #open = false; #over = false; #listeners = {}; #first = 0; #base = null;

  constructor(source) {
    this.#source = source;
    this.#media.addEventListener("sourceopen", () => { this.#open = true; this.#pump(); }, { once: true });
  }

  static handles(stream) {
    return ["av01", "vp09"].includes(stream?.video?.codec) || ["Opus", "opus", "fLaC"].includes(stream?.audio?.codec);
  }

  on(name, f) { this.#listeners[name] = f; }

  attachMediaElement(video) {
    this.#video = video;
    video.src = URL.createObjectURL(this.#media);
  }

  destroy() {
    this.#over = true;
    this.#abort.abort();
    this.#socket?.close();
    URL.revokeObjectURL(this.#video?.src ?? "");
  }

  load() { (this.#source.url.startsWith("ws") ? this.#overSocket() : this.#overHTTP()).catch((err) => this.#fail("MediaError", "FormatError", { msg: err.message })); }

  async #overHTTP() {
    try {
      const response = await fetch(this.#source.url, { signal: this.#abort.signal, cache: "no-store" });
      if (!response.ok) return this.#fail("NetworkError", "HttpStatusCodeInvalid", { code: response.status });
      for (const reader = response.body.getReader(); ;) {
        const { done, value } = await reader.read();
        if (done) break;
        this.#take(value);
      }
    } catch (err) {
      return this.#fail("NetworkError", "Exception", { msg: err.message });
    }
    this.#end();
  }

  async #overSocket() {
    this.#socket = new WebSocket(this.#source.url);
    this.#socket.binaryType = "arraybuffer";
    this.#socket.onmessage = ({ data }) => this.#take(new Uint8Array(data));
    this.#socket.onerror = () => this.#fail("NetworkError", "Exception", {});
    this.#socket.onclose = () => this.#end();
  }

  #end() { if (!this.#over) { this.#over = true; this.#listeners.ended?.(); } }

  #fail(type, detail, info) {
    if (this.#over) return;
    this.destroy();
    this.#listeners.error?.(type, detail, info);
  }

  #take(bytes) {
    if (this.#over) return;
    try {
      this.#tags.push(bytes, (s) => this.#sample(s));
    } catch (err) {
      return this.#fail("MediaError", "FormatError", { msg: err.message });
    }
    this.#pump();
  }

  #sample(s) {
    let track = this.#tracks[s.kind];
    if (s.config || (!track && s.codec === ".mp3")) {
      const what = describe(s.kind, s.codec, s.config ?? new Uint8Array(0), this.#source.size);
      if (!what || !MediaSource.isTypeSupported(what.mime)) return this.#fail("MediaError", "CodecUnsupported", { msg: what?.mime ?? s.codec });
      this.#first ||= performance.now();
      if (!track) track = this.#tracks[s.kind] = { samples: [], ready: [], number: 0, last: 40 };
      // Those before belong to what was before, and without the last one there is a gap, at which browsers stand still.
      if (track.samples.length) track.ready.push(fragment(++track.number, track.samples.splice(0)));
      if (track.buffer && track.mime !== what.mime) track.buffer.changeType?.(what.mime);
      track.mime = what.mime;
      track.ready.push(what.init);
    }
    if (!s.data || !track || (s.kind === "video" && !track.begun && !s.key)) return;
    track.begun = true;
    this.#base ??= s.dts;
    const before = track.samples.at(-1);
    if (before) track.last = before.duration = Math.max(s.dts - this.#base - before.dts, 1);
    track.samples.push({ ...s, dts: Math.max(s.dts - this.#base, before ? before.dts + before.duration : 0), duration: track.last });
  }

  // pump hands on what is complete: the last sample of a track waits for the next,
  // which tells how long it is.
  #pump() {
    if (!this.#open || this.#over) return;
    const kinds = Object.keys(this.#tracks);
    const waits = kinds.length < this.#source.kinds.length && performance.now() - this.#first < together;
    if (!kinds.length || (waits && !this.#begun)) return;
    this.#begun = true;
    try {
      // All buffers first: none can be added when one has begun.
      for (const track of Object.values(this.#tracks)) {
        if (track.buffer) continue;
        track.buffer = this.#media.addSourceBuffer(track.mime);
        track.buffer.addEventListener("updateend", () => this.#pump());
      }
      for (const track of Object.values(this.#tracks)) this.#append(track);
    } catch (err) {
      this.#fail("MediaError", "MediaMSEError", { msg: err.message });
    }
    this.#follow();
  }
  #begun = false;

  #append(track) {
    const { buffer, samples, ready } = track;
    if (buffer.updating) return;
    if (samples.length > 1) {
      const whole = samples.splice(0, samples.length - 1);
      ready.push(fragment(++track.number, whole));
    }
    if (ready.length) return void buffer.appendBuffer(ready.shift());
    const old = this.#video.currentTime - 30;
    if (buffer.buffered.length && buffer.buffered.start(0) < old - 10) buffer.remove(0, old);
  }

  // follow keeps near to live, as mpegts.js is configured to.
  #follow() {
    const { buffered, currentTime } = this.#video;
    if (!buffered.length) return;
    const end = buffered.end(buffered.length - 1);
    if (currentTime < buffered.start(0)) this.#video.currentTime = buffered.start(0);
    if (this.#source.recorded) return;
    const late = end - currentTime;
    if (late > 4) this.#video.currentTime = end - 0.6;
    this.#video.playbackRate = late > 1.2 ? 1.15 : late < 0.7 ? 1 : this.#video.playbackRate;
  }
}
