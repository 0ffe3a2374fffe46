// Streams and sessions: who publishes and watches, ending and banning them.
import * as api from "../api.js";
import { byId, setText } from "../dom.js";
import * as f from "../format.js";
import { path } from "../lines.js";
import { act } from "./act.js";
import { examine } from "./findings.js";
import { button, table } from "./table.js";

const most = 200; // rows: a longer table is not readable

const showStreams = table(document.querySelector("#streams .cards"), "streams-title", [
  ["Stream", (s) => f.readable(s.name) + f.at(s.node)],
  ["State", (s) => (s.state !== "live" ? "publisher gone" : s.from ? `live from ${s.from}` : "live"), { bad: (s) => s.state !== "live" }],
  ["Publisher", (s) => (s.publisher ? `${s.publisher.id}, ${f.protocol(s.publisher.protocol)}` : "–")],
  ["For", (s) => (s.since ? f.age(s.since, now) : "–")],
  ["Viewers", (s) => f.count(s.viewers)],
  ["In", (s) => f.bitrate(s.bitrate_in), { bad: (s) => s.state === "live" && s.bitrate_in === 0 }],
  ["Out", (s) => f.bitrate(s.bitrate_out)],
  ["Picture", (s) => f.video(s.video)],
  ["Sound", (s) => f.audio(s.audio), { wide: true }],
  ["", (row) => [
    button("Examine", () => `Examine why ${f.readable(row().name)} stalls`, () => examine(row().name)),
    button("Watch", () => `Watch ${f.readable(row().name)}`, () => location.assign(`/?stream=${path(row().name)}`)),
  ]],
], "Nothing is being published.");

const showSessions = table(document.querySelector("#sessions .cards"), "sessions-title", [
  ["Session", (c) => `${c.role === "publisher" ? "Publisher " : ""}${c.id}`],
  ["Stream", (c) => f.readable(c.stream)],
  ["By", (c) => f.protocol(c.protocol)],
  ["Address", (c) => f.readable(c.address || "–")],
  ["Token", (c) => f.readable(c.token || "–")],
  ["For", (c) => (c.since ? f.age(c.since, now) : "–")],
  ["Got", (c) => f.bytes(c.bytes)],
  ["Behind", (c) => (c.role === "publisher" ? "–" : f.milliseconds(c.lag_ms)), { bad: (c) => c.lag_ms > 2000 }],
  ["Dropped", (c) => (c.role === "publisher" ? "–" : f.count(c.dropped)), { bad: (c) => c.dropped > 0 }],
  ["Program", (c) => f.readable(c.agent || "–"), { wide: true }],
  ["", (row) => [
    button("Kick", () => `Kick ${row().id}`, () => act(() => api.kick(row().id), `${row().id} was ended.`), "Really?"),
    button("Ban…", () => `Ban ${row().id}`, () => askBan(row())),
  ]],
], "There are no sessions.");

const dialog = byId("ban");
let banned = null;
byId("ban-cancel").addEventListener("click", () => dialog.close());
byId("ban-client-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const c = banned, by = byId("ban-by").value, time = byId("ban-for").value.trim();
  dialog.close();
  await act(() => api.kick(c.id, { ban: time, by }), `${c.id} was ended and banned.`);
});

function askBan(c) {
  banned = c;
  setText(byId("ban-title"), `End and ban ${c.id}`);
  const byToken = byId("ban-by").querySelector("[value=token]");
  byToken.disabled = !c.token;
  if (byToken.selected && byToken.disabled) byId("ban-by").value = "address";
  dialog.showModal();
}

let now = Date.now();
let people = [];

export function show(streams, clients, at) {
  now = at;
  people = clients;
  showStreams([...streams].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }) || (a.node ?? "").localeCompare(b.node ?? "")), (s) => `${s.name}@${s.node ?? ""}`);
  setText(document.querySelector("#streams-title span"), f.count(streams.length));
  filter();
}

function filter() {
  const wanted = byId("session-filter").value.trim().toLowerCase();
  const all = people.filter((c) => [c.id, c.stream, c.address, c.agent, c.protocol, c.token].some((v) => (v ?? "").toLowerCase().includes(wanted)));
  const order = (c) => (c.role === "publisher" ? 0 : 1);
  showSessions(all.sort((a, b) => order(a) - order(b)).slice(0, most), (c) => c.id);
  setText(document.querySelector("#sessions-title span"), all.length > most ? `${f.count(all.length)}, ${most} are shown` : f.count(all.length));
}
byId("session-filter").addEventListener("input", filter);
