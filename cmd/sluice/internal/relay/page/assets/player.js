// Plays a stream in the page, by the best way that browser and server have, and goes on
// when the stream does: FLV by mpegts.js or what it cannot by the engine, HLS, or WebRTC.
import { byId, element, setText, terms } from "./dom.js";
import { Engine } from "./engine.js";
import { explain } from "./failure.js";
import { milliseconds, count } from "./format.js";
import { HLS } from "./hlsplay.js";
import { path } from "./lines.js";
import * as past from "./past.js";
import { placed, refused } from "./place.js";
import * as stall from "./stall.js";
import { wayFor } from "./ways.js";
import { WHEP } from "./whep.js";

const video = byId("video");
const cover = byId("cover");
const watch = byId("watch");
const stop = byId("stop");
const sound = byId("sound");
const transport = byId("transport");
const merge = byId("merge");
const tokenForm = byId("play-token");

const { mpegts } = window;
if (mpegts) {
  mpegts.LoggingControl.enableAll = false; // failures are shown, not logged
  // A WebSocket that was given up before it was there fails once more, which mpegts.js throws.
  addEventListener("error", (e) => { if (e.filename.endsWith("/mpegts.js") && e.error?.name === "RuntimeException") e.preventDefault(); });
}

let engine = null; // of mpegts.js, while there is a connection
let wanted = null; // {name}, while it shall play
let stream; // what the API says of it; undefined: nothing
let token = "";
let failures = 0; // in a row, for the back-off
let retryAt = 0; // performance.now of the next try, 0: none
let question = 0; // the latest of where to connect: answers to others are old
let away = false; // the server could not be reached: every second try asks another of its cluster
let other = ""; // that was asked at the latest try; "": its own
let moved = { time: 0, at: 0 }; // how far the video was when it last moved
let passed = 0; // where the latest gap that was passed over has ended, of the video
let pausedAt = 0;
let upToDate = false; // since the connection was made
let own = false; // mpegts.js could not play it
let config = {}; // of the server
let near = new Set(); // other servers to which the page's policy lets it connect: those that there were when it came
let way = ""; // of ways.js, by which it plays
const tried = new Set(); // ways that have failed, while the choice is the page's
let played = false; // there was a picture or sound since the connection was made
let without = ""; // "audio" or "video" when the engine was configured without it

// say covers the picture with a message; with none the picture is free.
function say(text, { button = "", ask = false } = {}) {
  setText(byId("player-message"), text);
  watch.hidden = !button;
  if (button) {
    setText(watch, button);
    watch.removeAttribute("aria-label"); // which names what the text is not about
  }
  tokenForm.hidden = !ask;
  cover.hidden = !text && !button && !ask;
}

function address(name) {
  const query = new URLSearchParams();
  if (token && way !== "whep") query.set("token", token);
  if (past.from()) query.set("from", past.from());
  else if (merge.value && way !== "hls") query.set("merge", merge.value);
  const server = other || location.origin;
  const origin = way === "ws" ? server.replace(/^http/, "ws") : server;
  return `${origin}/${path(name)}${{ hls: ".m3u8", whep: "/whep" }[way] ?? ".flv"}${query.size ? `?${query}` : ""}`;
}

function drop() {
  retryAt = 0;
  question++;
  stall.reset();
  terms(byId("playing"), []); // which is about what played
  if (!engine) return;
  const old = engine;
  engine = null;
  old.destroy();
  video.removeAttribute("src");
  video.load();
}

const lacks = () => (stream?.video && !stream.audio ? "audio" : stream?.audio && !stream.video ? "video" : "");

function connect() {
  drop();
  way = wayFor(transport.value, config, stream, tried, Boolean(past.from()));
  if (!way && tried.size) { // all of them again, later
    tried.clear();
    way = wayFor(transport.value, config, stream, tried, Boolean(past.from()));
  }
  if (!way || (!["hls", "whep"].includes(way) && !mpegts?.isSupported())) {
    say("This browser cannot play live streams in this way. VLC can: the address is below.");
    wanted = null;
    return;
  }
  played = false;
  say(failures ? "Connecting again…" : "Connecting…");
  other = away && !other && !past.from() ? another() : "";
  if (other && !near.has(other)) { // that server's own page may connect to it
    location.assign(`${other}/?${new URLSearchParams({ stream: wanted.name, ...(token && { token }) })}`);
    return;
  }
  const url = address(wanted.name);
  if (!(other || ["ws", "whep"].includes(way)) || !config.cluster || past.from()) return void open(url);
  const mine = question;
  placed(url, other).then((to) => mine === question && open(to), (err) => mine === question && lost("NetworkError", "NoAnswer", { msg: err.message }, false));
}

// another is one of the other servers, one to which the page may connect if there is one; "": none.
function another() {
  const all = config.others ?? [];
  const some = all.filter((o) => near.has(o));
  const list = some.length ? some : all;
  return list[Math.floor(Math.random() * list.length)] ?? "";
}

// open connects to an address. Nothing is connected.
function open(url) {
  moved = { time: 0, at: performance.now() };
  passed = 0;
  pausedAt = 0;
  upToDate = Boolean(past.from()); // what was recorded is seen from its beginning

  const source = { type: "flv", isLive: true, url, past: Boolean(past.from()) };
  // The header of a live FLV promises both; a stream without one of them would
  // wait for it for ever.
  without = lacks();
  if (without) source[without === "audio" ? "hasAudio" : "hasVideo"] = false;
  const mine = way === "hls" ? new HLS(source.url, source.past) : way === "whep" ? new WHEP({ url: source.url, token }) : own || Engine.handles(stream) ? engineFor(source) : mpegts.createPlayer(source, {
    enableStashBuffer: false, // shown when it comes
    lazyLoad: false,
    // Up to date within a second by playing a little faster, by a jump when far behind.
    liveSync: !source.past, liveSyncMaxLatency: 1.2, liveSyncTargetLatency: 0.6, liveSyncPlaybackRate: 1.15,
    liveBufferLatencyChasing: !source.past, liveBufferLatencyMaxLatency: 4, liveBufferLatencyMinRemain: 0.6,
    autoCleanupSourceBuffer: true, autoCleanupMaxBackwardDuration: 30, autoCleanupMinBackwardDuration: 10,
  });
  engine = mine;
  const simple = mine instanceof Engine || mine instanceof HLS || mine instanceof WHEP;
  mine.on(simple ? "error" : mpegts.Events.ERROR, (type, detail, info) => {
    if (engine !== mine || (own && !simple)) return;
    if (type === "MediaError" && !simple) {
      own = true; // several tracks, say
      // Not from within mpegts.js, which goes on with what it has.
      setTimeout(() => engine === mine && connect());
      return;
    }
    if (way === "ws" && type === "NetworkError" && !played) return void unopened(url, source.past);
    lost(type, detail, info, source.past);
  });
  mine.on(simple ? "ended" : mpegts.Events.LOADING_COMPLETE, () => engine === mine && failed({ text: source.past ? "What was recorded is over." : "The stream has ended. It starts here when it is published again.", again: !source.past }));
  if (mine instanceof HLS) mine.on("ready", () => engine === mine && begin());
  mine.attachMediaElement(video);
  mine.load();
  begin();
}

// unopened asks why a WebSocket brought nothing.
function unopened(url, recorded) {
  drop();
  const mine = question;
  const then = (detail, code) => mine === question && lost("NetworkError", detail, { code }, recorded);
  refused(url).then((status) => then(status ? "HttpStatusCodeInvalid" : "Exception", status), () => then("NoAnswer"));
}

function lost(type, detail, info, recorded) {
  if (!played) away = type === "NetworkError" && (detail !== "HttpStatusCodeInvalid" || info?.code === 503);
  if (!instead(type, detail)) failed(explain(type, detail, info, { transport: way, stream, past: recorded }));
}

// instead tries another way when the choice is the page's, and this one cannot play or
// has never brought anything in several tries. An answer by which the server refuses is
// the same in every way.
function instead(type, detail) {
  if (transport.value !== "auto" || played || detail === "HttpStatusCodeInvalid") return false;
  if (type !== "MediaError" && failures < 2) return false;
  tried.add(way);
  if (!wayFor("auto", config, stream, tried, Boolean(past.from()))) return false;
  failures = 0;
  setTimeout(() => wanted && connect()); // not from within a player that goes on
  return true;
}

function engineFor({ url, past: recorded }) {
  const known = stream?.video || stream?.audio;
  const kinds = ["video", "audio"].filter((kind) => !known || stream[kind]);
  return new Engine({ url, recorded, kinds, size: { width: stream?.video?.shown_width ?? stream?.video?.width, height: stream?.video?.height } });
}

// begin asks the element to play. Without a click browsers allow that only
// without sound, and some not even then.
async function begin() {
  try {
    await video.play();
  } catch (err) {
    if (err.name === "NotAllowedError" && engine) say("The browser plays this when you say so.", { button: "Play" });
  }
}

function failed({ text, again = false, token: ask = false }) {
  drop();
  if (again) {
    // At first soon, while a server that ends still sends its viewers to another, and not
    // all at once.
    const wait = played && !failures ? 250 + 250 * Math.random() : Math.min(15_000, 500 * 2 ** Math.max(failures - 1, 0)) * (0.75 + 0.5 * Math.random());
    failures++;
    retryAt = performance.now() + wait;
  } else {
    wanted = null;
  }
  say(text, { button: ask ? "" : again ? "Try now" : "Try again", ask });
  controls();
}

function controls() {
  stop.disabled = !wanted;
  setText(sound, video.muted ? "Sound on" : "Sound off");
  video.controls = engine !== null;
}

// play starts a stream at once. play token: of the address of the page.
export function play(name, playToken = token) {
  token = playToken;
  wanted = { name };
  tried.clear();
  failures = 0;
  away = own = false;
  connect();
  controls();
  if (stream === undefined) past.find(name, token);
}

// show makes ready for a stream without starting it.
export function show(name) {
  if (watch.dataset.name !== name) past.reset();
  wanted = null;
  drop();
  say("", { button: "Watch" });
  watch.setAttribute("aria-label", `Watch ${name}`);
  watch.dataset.name = name;
  controls();
}

export const playToken = () => token;

// learn takes the other servers that there are now.
export function learn(others) {
  config.others = others;
}

// know takes what the API says of the stream: null when there is none, undefined
// when that is not known.
export function know(now, at) {
  past.offer(now, at);
  const came = now?.state === "live" && stream?.state !== "live";
  stream = now;
  if (!wanted) return;
  // Begin again when the configuration was wrong: the engine leaves out what has come since, or
  // waits for what there is not.
  const wrong = engine && now && ((without && now[without]) || (lacks() !== without && video.readyState === 0));
  if (wrong || (came && !engine)) retryAt = performance.now();
}

function latency() {
  const { buffered } = video;
  return buffered.length ? Math.max(0, buffered.end(buffered.length - 1) - video.currentTime) : NaN;
}

// stuck reports that what comes over FLV is not shown: of the two tracks that the browser has been promised
// one comes no more, or mpegts.js has lost its way.
function stuck() {
  return transport.value === "auto" && ["flv", "ws"].includes(way) && !past.from() && engine.statisticsInfo?.speed > 0;
}

// elsewhere goes on by HLS, in which silence is in the place of sound, or begins again; false where
// that was in vain.
function elsewhere() {
  tried.add("flv").add("ws");
  const other = wayFor("auto", config, stream, tried) || played;
  if (other) connect();
  return other;
}

// pass moves over a gap in what FLV brought, once: mpegts.js leaves one where the parameters of the picture change, a frame
// long, at which browsers show no more pictures, and after some seconds play no more sound.
function pass() {
  const { buffered, currentTime } = video;
  for (let i = 1; ["flv", "ws"].includes(way) && i < buffered.length; i++) {
    const to = buffered.start(i);
    if (to <= passed || currentTime < buffered.end(i - 1) - 0.1 || to > currentTime + 0.5) continue;
    passed = to;
    video.currentTime = Math.max(currentTime, to) + 0.01;
  }
}

// tick follows the video a few times a second.
function tick() {
  const now = performance.now();
  if (retryAt && now >= retryAt && wanted) {
    connect();
    return;
  }
  if (!engine) return;
  if (video.paused) {
    pausedAt ||= now;
    // The page is hidden: frames would only fill memory here and cost the server.
    if (now - pausedAt > 20_000 && video.readyState > 0) show(wanted.name);
    return;
  }
  pausedAt = 0;
  pass();
  const time = engine.progress ?? video.currentTime;
  if (time !== moved.time) {
    moved = { time, at: now };
    failures = 0;
    away = false;
    if (time > 0) say("");
    played = true;
  } else if (now - moved.at > 4000) { // the slowest honest picture comes more often
    say(stream?.state === "grace"
      ? "The publisher is gone for the moment. The picture goes on when they come back."
      : "No picture for some seconds.");
    if (stuck() && elsewhere()) return;
  }
  if (played && !document.hidden) stall.look(wanted.name, now - moved.at, video, stream, Boolean(past.from()));
  // The server begins with what came since the last key frame, some seconds in one
  // go. They are needed to decode, but need not be looked at.
  if (!upToDate && way !== "hls" && video.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA) {
    upToDate = true;
    if (latency() > 1.2) video.currentTime += latency() - 0.6;
  }
  const quality = video.getVideoPlaybackQuality?.();
  terms(byId("playing"), [
    ["By", { flv: "HTTP", ws: "WebSocket", hls: "HLS", whep: "WebRTC" }[way] ?? way],
    ["Latency", milliseconds(Math.round((engine.delay || latency()) * 20) * 50), "From the newest data that the browser has to what is shown"],
    ["Picture", video.videoWidth ? `${video.videoWidth}×${video.videoHeight}` : "–"],
    ["Frames lost here", count(quality?.droppedVideoFrames ?? NaN), "Frames that this browser did not show in time"],
  ]);
}

export function start({ onPlay, config: said }) {
  config = said;
  near = new Set(config.others);
  transport.querySelector("[value=hls]").hidden = !config.hls;
  transport.querySelector("[value=whep]").hidden = !config.webrtc;
  const mergeMS = config.merge_ms;
  const label = Number.isFinite(mergeMS) ? `server’s, ${mergeMS} ms` : "server’s";
  merge.append(...[["", label], ["0", "0 ms"], ["80", "80 ms"], ["200", "200 ms"], ["350", "350 ms"]].map(([value, text]) => element("option", { value }, text)));
  watch.addEventListener("click", () => {
    if (engine) begin();
    else onPlay();
    if (wanted) stop.focus(); // the button goes away
  });
  stop.addEventListener("click", () => {
    if (!wanted) return;
    show(wanted.name);
    watch.focus();
  });
  sound.addEventListener("click", () => {
    video.muted = !video.muted;
    controls();
  });
  video.addEventListener("volumechange", controls);
  for (const select of [transport, merge]) {
    select.addEventListener("change", () => wanted && play(wanted.name));
  }
  past.onChange(() => wanted && play(wanted.name));
  tokenForm.addEventListener("submit", (event) => {
    event.preventDefault();
    token = byId("play-token-value").value.trim();
    onPlay();
  });
  controls();
  setInterval(tick, 250);
}
