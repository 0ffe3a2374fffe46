// Pushes to other servers: their states, and targets that were added here.
import * as api from "../api.js";
import { byId, setText } from "../dom.js";
import * as f from "../format.js";
import { act } from "./act.js";
import { button, table } from "./table.js";

const show = table(document.querySelector("#pushes .cards"), "pushes-title", [
  ["Stream", (p) => f.readable(p.stream) + f.at(p.node)],
  ["To", (p) => f.readable(p.target)],
  ["State", (p) => p.state, { bad: (p) => p.state !== "live" }],
  ["Sent", (p) => f.bytes(p.bytes)],
  ["Dropped", (p) => f.count(p.dropped), { bad: (p) => p.dropped > 0 }],
  ["Why", (p) => f.readable(p.error || "–"), { wide: true }],
], "No stream is pushed.");

const showAdded = table(document.querySelector("#push-added"), "pushes-added-title", [
  ["Target", (t) => t.id + f.at(t.node)],
  ["Streams", (t) => f.readable(t.pattern)],
  ["To", (t) => f.readable(t.target)],
  ["Enhanced RTMP", (t) => (t.enhanced ? "yes" : "no")],
  ["", (row) => [button("Remove", () => `Remove target ${row().id}`, async () => {
    await act(() => api.removePush(row().id, row().node), `Target ${row().id} was removed.`);
    await ask();
  }, "Really?")]],
], "None: those of the settings change with the settings.");

export async function ask() {
  const { pushes, targets } = await api.pushes();
  show(pushes ?? [], (p) => `${p.stream} ${p.target} ${p.node ?? ""}`);
  showAdded(targets ?? [], (t) => t.id + f.at(t.node));
  setText(document.querySelector("#pushes-title span"), f.count((pushes ?? []).length));
}

const form = byId("push-form");
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { pattern, url, enhanced } = form.elements;
  const target = { pattern: pattern.value.trim(), url: url.value.trim(), enhanced: enhanced.checked };
  if (await act(() => api.addPush(target), "The target was added.")) form.reset(); // its key is not kept on the page
  await ask();
});
