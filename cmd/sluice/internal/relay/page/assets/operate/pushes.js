// Pushes to other servers.
import * as api from "../api.js";
import { setText } from "../dom.js";
import * as f from "../format.js";
import { table } from "./table.js";

const show = table(document.querySelector("#pushes .cards"), "pushes-title", [
  ["Stream", (p) => f.readable(p.stream)],
  ["To", (p) => f.readable(p.target)],
  ["State", (p) => p.state, { bad: (p) => p.state !== "live" }],
  ["Sent", (p) => f.bytes(p.bytes)],
  ["Dropped", (p) => f.count(p.dropped), { bad: (p) => p.dropped > 0 }],
  ["Why", (p) => f.readable(p.error || "–"), { wide: true }],
], "No stream is pushed: --push names targets.");

export async function ask() {
  const list = await api.pushes();
  show(list, (p) => `${p.stream} ${p.target}`);
  setText(document.querySelector("#pushes-title span"), f.count(list.length));
}
