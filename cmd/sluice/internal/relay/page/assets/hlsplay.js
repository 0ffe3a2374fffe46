// Plays a stream by HLS: by hls.js, or by the element itself where that can (Safari,
// phones, televisions). It has the part of mpegts.js' interface that the player uses.

const script = "/assets/hls/hls.light.min.js";
const type = "application/vnd.apple.mpegurl";

let library = null; // a promise of the library, loaded when it is needed

function load() {
  library ??= new Promise((resolve, reject) => {
    const e = document.createElement("script");
    const policy = window.trustedTypes?.createPolicy("hls", { createScriptURL: (url) => url });
    e.src = policy ? policy.createScriptURL(script) : script;
    e.onload = () => resolve(window.Hls);
    e.onerror = () => {
      library = null;
      reject(new Error("the player could not be loaded"));
    };
    document.head.append(e);
  });
  return library;
}

const look = 500; // ms between two looks at a picture that may stand still
const still = 2000; // ms without a movement that are its end, when nothing comes any more

const hasMSE = () => Boolean(window.MediaSource || window.ManagedMediaSource);

export const native = () => document.createElement("video").canPlayType(type) !== "";
export const playable = () => hasMSE() || native();

export class HLS {
  #url; #past; #video = null; #hls = null; #over = false; #listeners = {};
  #looks = 0; // the timer of watch

  // ms after which hls.js, which gives up a playlist after 20 s, has stopped to ask for one.
  static silence = 25_000;

  // past: of what was recorded, which is seen from its beginning.
  constructor(url, past = false) {
    this.#url = url;
    this.#past = past;
  }

  on(name, f) { this.#listeners[name] = f; }

  attachMediaElement(video) { this.#video = video; }

  load() {
    if (hasMSE()) this.#byLibrary().catch((err) => this.#fail("OtherError", "", { msg: err.message }));
    else this.#byElement();
  }

  #byElement() {
    this.#video.src = this.#url;
    this.#video.onerror = () => this.#fail("NetworkError", "", {});
    this.#video.onended = () => this.#end();
  }

  async #byLibrary() {
    const Hls = await load();
    if (this.#over) return;
    if (!Hls.isSupported()) return void this.#byElement();
    const hls = new Hls({ enableWorker: false, lowLatencyMode: !this.#past, backBufferLength: 30, ...(this.#past ? { startPosition: 0 } : { maxLiveSyncPlaybackRate: 1.15 }) });
    this.#hls = hls;
    // Of the last segment of a stream that has ended hls.js may leave out a part, or not see that it
    // has all, and then waits for ever.
    let last = NaN, loading = false;
    hls.on(Hls.Events.LEVEL_UPDATED, (_, { details: { live, fragments } }) => {
      last = live ? NaN : fragments.at(-1)?.start;
      this.#watch(live, () => loading);
    });
    hls.on(Hls.Events.LEVEL_LOADING, () => this.#watch(true, () => false));
    hls.on(Hls.Events.FRAG_LOADING, () => { loading = true; });
    hls.on(Hls.Events.FRAG_BUFFERED, () => { loading = false; });
    hls.on(Hls.Events.ERROR, (_, { fatal, type: kind, details, response, error }) => {
      if (details === Hls.ErrorDetails.BUFFER_STALLED_ERROR && this.#video.currentTime >= last && !loading) return void this.#end();
      if (!fatal) return;
      // Who was admitted is answered so when nothing comes of the stream.
      if (response?.code === 503 && details !== Hls.ErrorDetails.MANIFEST_LOAD_ERROR) this.#fail("NetworkError", "NothingCame", {});
      else if (response?.code >= 400) this.#fail("NetworkError", "HttpStatusCodeInvalid", { code: response.code });
      else if (kind === Hls.ErrorTypes.NETWORK_ERROR) this.#fail("NetworkError", details, {});
      else if (kind === Hls.ErrorTypes.MEDIA_ERROR) this.#fail("MediaError", /codec/i.test(details) ? "CodecUnsupported" : details, {});
      else this.#fail("OtherError", details, { msg: error?.message });
    });
    hls.on(Hls.Events.BUFFER_EOS, () => {
      this.#video.onended = () => this.#end();
    });
    // The element has its source from then on: that aborts what was asked to play before.
    hls.on(Hls.Events.MEDIA_ATTACHED, () => this.#over || this.#listeners.ready?.());
    hls.attachMedia(this.#video);
    hls.loadSource(this.#url);
  }

  // watch ends when all that there is of a stream that is over has been shown. hls.js says once that the picture
  // stands: that may have been before the playlist had its end, or short of the last segment. Of a live one it
  // may stop to ask for the playlist, which is a failure: the player connects again.
  #watch(live, loading) {
    const video = this.#video;
    let [time, since] = [NaN, 0];
    clearInterval(this.#looks);
    this.#looks = setInterval(() => {
      const { buffered, currentTime } = video;
      const ahead = buffered.length ? buffered.end(buffered.length - 1) - currentTime : 0;
      const goesOn = !live && (loading() || ahead > 0.5);
      if (video.paused || goesOn || currentTime !== time) [time, since] = [currentTime, performance.now()];
      else if (performance.now() - since < (live ? HLS.silence : still)) return;
      else if (live) this.#fail("NetworkError", "NothingCame", {});
      else this.#end();
    }, look);
  }

  // delay is how far what is shown is behind the live edge, in s; NaN when unknown.
  get delay() { return this.#hls?.latency || NaN; }

  #end() {
    if (this.#over) return;
    this.destroy();
    this.#listeners.ended?.();
  }

  #fail(...what) {
    if (this.#over) return;
    this.destroy();
    this.#listeners.error?.(...what);
  }

  destroy() {
    this.#over = true;
    clearInterval(this.#looks);
    this.#hls?.destroy();
    if (this.#video) this.#video.onerror = this.#video.onended = null;
  }
}
