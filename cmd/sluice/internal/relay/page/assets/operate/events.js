// What happens on the server, the newest first.
import * as api from "../api.js";
import { byId, setText } from "../dom.js";
import * as f from "../format.js";
import { table } from "./table.js";

const most = 200; // rows that are shown
const kept = 2000;
let list = []; // the newest first
let last = 0; // of the latest answer

const bad = new Set(["evicted", "stalled", "lost", "refused"]);
const show = table(document.querySelector("#events .cards"), "events-title", [
  ["Time", (e) => new Date(e.time).toLocaleTimeString()],
  ["Event", (e) => e.event.replaceAll("_", " "), { bad: (e) => bad.has(e.event) }],
  ["Stream", (e) => f.readable(e.stream || e.node || "–") + f.at(e.on)],
  ["Session", (e) => e.session || "–"],
  ["By", (e) => (e.protocol ? f.protocol(e.protocol) : "–")],
  ["Address", (e) => f.readable(e.address || "–")],
  ["For", (e) => (e.duration_ms === undefined ? "–" : f.duration(e.duration_ms / 1000))],
  ["Bytes", (e) => (e.bytes === undefined ? "–" : f.bytes(e.bytes))],
  ["Why", (e) => f.readable([e.target, e.event === "push_changed" ? e.code : "", e.reason || e.file].filter(Boolean).join(": ") || "–"), { wide: true }],
], "Nothing has happened yet.");

// key: a server that restarts counts from 1 again, and a node that was away sends again.
const key = (e) => `${e.id} ${e.time}`;

function filter() {
  const wanted = byId("event-filter").value.trim().toLowerCase();
  const all = list.filter((e) => [e.event.replaceAll("_", " "), e.stream, e.session, e.address, e.reason].some((v) => (v ?? "").toLowerCase().includes(wanted)));
  show(all.slice(0, most), key);
  setText(document.querySelector("#events-title span"), all.length > most ? `the latest ${most} of ${f.count(all.length)}` : f.count(all.length));
}
byId("event-filter").addEventListener("input", filter);

export async function ask() {
  const answer = await api.events(last);
  last = answer.last;
  if (!answer.events.length && list.length) return;
  const fresh = new Set(answer.events.map(key));
  list = [...answer.events.reverse(), ...list.filter((e) => !fresh.has(key(e)))];
  list = list.sort((a, b) => Date.parse(b.time) - Date.parse(a.time)).slice(0, kept); // of several nodes
  filter();
}
