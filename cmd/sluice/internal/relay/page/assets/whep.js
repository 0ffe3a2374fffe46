// Plays a stream by WebRTC: an offer by WHEP, and the answer's media. It has the part of
// mpegts.js' interface that the player uses.

// stereo makes the browser decode both channels of Opus (RFC 7587, section 7.1).
const stereo = (sdp) => sdp.replace(/(a=fmtp:\d+ [^\r\n]*useinbandfec=1)/g, "$1;stereo=1");

// servers are the STUN and TURN servers in Link fields (RFC 9725, section 4.6).
function servers(header) {
  const list = [];
  for (const [, url, rest] of (header ?? "").matchAll(/<([^>]+)>((?:\s*;\s*[\w-]+="[^"]*")*)/g)) {
    const values = Object.fromEntries([...rest.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));
    if (values.rel === "ice-server") list.push({ urls: url, username: values.username, credential: values.credential });
  }
  return list;
}

const look = 200; // ms between two looks at what has come
const silent = 4000; // ms without a sign of the server; browsers ask for one at least every 2.5 s

// count counts what came from the server. signs: media or answers to the browser's own checks (RFC
// 7675); NaN where a browser does not say: while only the media stands still, nothing is lost.
// shown: pictures, or where there are none packets of sound.
async function count(pc) {
  let signs = NaN;
  const came = {};
  for (const report of (await pc.getStats()).values()) {
    if (report.type === "candidate-pair" && report.responsesReceived >= 0) signs = (signs || 0) + report.responsesReceived + (report.requestsReceived || 0) + (report.bytesReceived || 0);
    if (report.type === "inbound-rtp") came[report.kind] = report.framesDecoded ?? report.packetsReceived ?? 0;
  }
  return { signs, shown: came.video ?? came.audio ?? 0 };
}

export class WHEP {
  #url; #token; #session = ""; #pc = new RTCPeerConnection(); #stream = new MediaStream(); #video; #over = false; #listeners = {}; #abort = new AbortController();
  #looks = 0; // the timer of watch
  progress = 0; // becomes more while pictures, or sound alone, come: the element's time runs on without them

  constructor({ url, token = "" }) {
    this.#url = url;
    this.#token = token;
  }

  on(name, f) { this.#listeners[name] = f; }

  attachMediaElement(video) {
    this.#video = video;
    video.srcObject = this.#stream;
  }

  destroy() {
    this.#over = true;
    clearInterval(this.#looks);
    this.#abort.abort();
    this.#pc.close();
    if (this.#video?.srcObject === this.#stream) this.#video.srcObject = null;
    // Without this the server would wait for a sign of life.
    if (this.#session) fetch(this.#session, { method: "DELETE", headers: this.#headers(), keepalive: true }).catch(() => {});
    this.#session = "";
  }

  load() { this.#connect().catch((err) => this.#fail("NetworkError", "Exception", { msg: err.message })); }

  #headers(more = {}) { return this.#token ? { ...more, Authorization: `Bearer ${this.#token}` } : more; }

  async #connect() {
    const pc = this.#pc;
    pc.ontrack = ({ track }) => this.#stream.addTrack(track);
    pc.onconnectionstatechange = () => {
      if (pc.connectionState === "connected") this.#watch();
      if (["failed", "closed", "disconnected"].includes(pc.connectionState)) this.#gone();
    };
    for (const kind of ["video", "audio"]) pc.addTransceiver(kind, { direction: "recvonly" });
    const offer = await pc.createOffer();
    offer.sdp = stereo(offer.sdp);
    const response = await fetch(this.#url, { method: "POST", body: offer.sdp, signal: this.#abort.signal, headers: this.#headers({ "Content-Type": "application/sdp" }) });
    if (response.status === 406) return this.#fail("MediaError", "CodecUnsupported", {}); // other ways have other codecs
    if (!response.ok) return this.#fail("NetworkError", "HttpStatusCodeInvalid", { code: response.status });
    const location = response.headers.get("Location");
    if (this.#over) return;
    this.#session = new URL(location, this.#url).href;
    const helpers = servers(response.headers.get("Link"));
    if (helpers.length) pc.setConfiguration({ iceServers: helpers });
    const sdp = await response.text();
    await pc.setLocalDescription(offer);
    await pc.setRemoteDescription({ type: "answer", sdp });
    // The server's goodbye, seconds before the connection counts as lost.
    for (const { transport } of pc.getReceivers()) {
      transport?.addEventListener("statechange", () => ["closed", "failed"].includes(transport.state) && this.#gone());
    }
  }

  // watch sees that the server has gone without a goodbye long before the browser says so.
  #watch() {
    clearInterval(this.#looks);
    let [latest, since] = [NaN, performance.now()];
    this.#looks = setInterval(async () => {
      const { signs, shown } = await count(this.#pc);
      this.progress = shown;
      if (signs !== latest) [latest, since] = [signs, performance.now()]; // NaN is never the same
      else if (performance.now() - since >= silent) this.#gone();
    }, look);
  }

  // gone tells the server's goodbye from a connection that is lost or was never made.
  #gone() {
    const { transport } = this.#pc.getReceivers()[0] ?? {};
    if (transport?.state === "closed") this.#end();
    else this.#fail("NetworkError", this.#looks ? "Silent" : "NoMedia", {});
  }

  #end() { if (!this.#over) { this.#over = true; clearInterval(this.#looks); this.#listeners.ended?.(); } }

  #fail(type, detail, info) {
    if (this.#over) return;
    this.destroy();
    this.#listeners.error?.(type, detail, info);
  }
}
