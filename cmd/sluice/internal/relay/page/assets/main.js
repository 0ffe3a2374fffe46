// The page: asks the API every two seconds and hands what it says to the parts.
import * as api from "./api.js";
import { askForToken } from "./ask.js";
import * as charts from "./charts.js";
import { merged, missing } from "./cluster.js";
import * as clients from "./clients.js";
import { byId, element, setText } from "./dom.js";
import { readable } from "./format.js";
import { playLines, pushLines } from "./lines.js";
import * as list from "./list.js";
import * as numbers from "./numbers.js";
import * as player from "./player.js";
import { repeat } from "./poll.js";
import "./raw.js";

const manyStreams = 20; // from here on their histories are asked for less often
const manyClients = 200; // and so is the list of clients

const query = new URLSearchParams(location.search);
const shown = {
  name: query.get("stream") || "", // of the selected stream
  chosen: Boolean(query.get("stream")), // by a person, so that it stays when it is not live
};
let config = { rtmp_port: 1935, rtmps_port: 0, rtsp_port: 0, rtsps_port: 0, srt_port: 0, srt_encrypted: false, hls: false, webrtc: false, merge_ms: NaN, protect_publish: false, protect_play: false };
let known = null; // the newest answer
let refused = false; // there is none without the API token
const histories = new Map();

const lines = { push: pushLines(byId("push-lines")), play: playLines(byId("play-lines")) };
const empty = { push: pushLines(byId("empty-push"), { test: true }), play: playLines(byId("empty-play")) };

function notice(text, button) {
  const e = byId("notice");
  if (e.dataset.text !== text) {
    e.dataset.text = text;
    e.replaceChildren(text, ...(button ? [" ", button] : []));
  }
  e.hidden = !text;
}

function select(name, { chosen = true } = {}) {
  shown.name = name;
  shown.chosen = chosen;
  if (chosen) history.replaceState(null, "", list.link(name));
  document.title = `${readable(name)} – Sluice`;
  charts.show(null);
  player.show(name);
  render();
}

function watch() {
  if (!shown.name) return;
  shown.chosen = true;
  player.play(shown.name);
  render();
}

function render() {
  const streams = known?.streams ?? [];
  if (!streams.some((s) => s.name === shown.name) && !shown.chosen) {
    shown.name = "";
    if (streams.length) {
      const first = streams.map((s) => s.name).sort()[0];
      select(first, { chosen: false }); // renders
      return;
    }
  }
  list.show(streams, shown.name, (name) => {
    select(name);
    watch();
    byId("stream").scrollIntoView({ block: "nearest" });
  });

  const stream = streams.find((s) => s.name === shown.name) ?? null;
  byId("main").dataset.streams = streams.length ? "some" : "none";
  byId("empty").hidden = !(known || refused) || shown.name !== "";
  byId("stream").hidden = shown.name === "";
  if (known) numbers.server({ ...known, streams });
  if (!shown.name) {
    document.title = "Sluice";
    newcomer();
    return;
  }
  setText(byId("name"), readable(shown.name));
  player.know(known ? stream : undefined, known?.now);
  if (known) numbers.state(stream, known.now);
  numbers.stream(stream, known?.now);
  const past = stream && histories.get(shown.name);
  charts.show(past);
  byId("charts-section").hidden = !past;
  byId("clients-section").hidden = !stream;
  lines.push(shown.name, config);
  lines.play(shown.name, config, player.playToken(), stream);
}

// newcomer shows the lines for a stream that does not exist yet, or that is not listed.
function newcomer() {
  setText(byId("empty-title"), refused ? "Streams are not listed without the API token" : "Nothing is being published");
  setText(byId("empty-text"), refused ? "Watch or publish one by its name."
    : "The server is ready. Send it a stream, and it appears here within two seconds.");
  const name = byId("new-name").value.trim().replace(/^\/+|\/+$/g, "");
  const whole = /^[^/]+(\/[^/]+)+$/.test(name);
  byId("new-name-fault").hidden = whole;
  setText(byId("new-name-fault"), whole ? "" : "A name has two parts with a slash between them, such as live/test.");
  if (!whole) return;
  empty.push(name, config);
  empty.play(name, config);
}

let round = 0;
let people = [];

async function ask() {
  const often = (known?.streams?.length ?? 0) <= manyStreams;
  const answer = await api.streams(often || round % 5 === 0);
  known = { now: Date.now(), ...answer, streams: merged(answer?.streams ?? []) };
  const names = new Set(known.streams.map((s) => s.name));
  for (const name of histories.keys()) if (!names.has(name)) histories.delete(name);
  for (const s of known.streams) if (s.history) histories.set(s.name, s.history);
  if (people.length <= manyClients || round % 5 === 0) people = shown.name || known.streams.length ? await api.clients() : [];
  round++;
}

let polls = 0;

// learn asks for the other servers of the cluster, every second time: they come and go.
async function learn() {
  if (!config.cluster || ++polls % 2) return;
  try {
    player.learn((await api.config()).others ?? []);
  } catch { /* those that are known stay */ }
}

async function poll() {
  void learn();
  try {
    await ask();
    refused = false;
    notice(missing(known));
  } catch (err) {
    if (err.refused) {
      refused = !known;
      notice(api.refusal("The server shows streams and numbers only to those who know its API token."), element("button", {
        type: "button",
        onclick: async () => {
          if (await askForToken("Numbers and clients are shown with it.")) again();
        },
      }, "Enter it"));
    } else {
      notice(`${err.message || err} Trying again.`);
    }
  }
  render();
  if (shown.name) clients.show(people, shown.name, known?.now ?? Date.now());
}

const again = repeat(poll);
byId("filter").addEventListener("input", render);
byId("new-name").addEventListener("input", newcomer);

try {
  config = await api.config();
} catch { /* the usual ports; the first poll says what is wrong */ }
player.start({ onPlay: watch, config });
if (shown.name) {
  document.title = `${readable(shown.name)} – Sluice`;
  player.show(shown.name);
}
// What the API says of a stream helps to play it, but is not waited for long.
await Promise.race([again(), new Promise((resolve) => setTimeout(resolve, 500))]);
if (query.get("stream")) player.play(shown.name, query.get("token") ?? "");
