// Recordings: beginning and ending them, their files.
import * as api from "../api.js";
import { byId, setText } from "../dom.js";
import * as f from "../format.js";
import { path } from "../lines.js";
import { act } from "./act.js";
import { button, table } from "./table.js";

let config = {};
export const start = (c) => (config = c);

const show = table(document.querySelector("#recordings .cards"), "recordings-title", [
  ["Recording", (r) => f.readable(r.file)],
  ["Stream", (r) => f.readable(r.stream) + f.at(r.node)],
  ["Began", (r) => new Date(r.begin).toLocaleString()],
  ["Length", (r) => (r.duration_ms > 0 ? f.duration(r.duration_ms / 1000) : "–")],
  ["Size", (r) => f.bytes(r.size)],
  ["State", (r) => (r.writing ? "is being written" : "done"), { wide: true }],
  ["", (row) => [
    button("Get", () => `Get ${f.readable(row().file)}`, () => get(row())),
    button("Delete", () => `Delete ${f.readable(row().file)}`, async () => {
      await act(() => api.deleteRecording(row().file, row().node), `${row().file} was deleted.`);
      await ask();
    }, "Really?"),
  ]],
], "There are no recordings.");

// get opens the file. A link cannot carry the API's token: where a token is needed to
// play, one is made for it.
async function get(r) {
  const query = new URLSearchParams();
  if (r.node) query.set("node", r.node); // which sends on to that
  if (config.protect_play) {
    const t = await act(() => api.makeToken({ action: "play", stream: r.stream, for: "1h" }), "A token for it was made.");
    if (!t) return;
    query.set("token", t.token);
  }
  location.assign(`/api/recordings/${path(r.file)}${query.size ? `?${query}` : ""}`);
}

export async function ask() {
  const section = byId("recordings");
  try {
    const { recordings, total } = await api.recordings();
    show(recordings, (r) => r.file + f.at(r.node));
    section.hidden = false;
    setText(document.querySelector("#recordings-title span"), total > recordings.length ? `the latest ${f.count(recordings.length)} of ${f.count(total)}` : f.count(total));
  } catch (err) {
    if (err.status !== 404) throw err;
    section.hidden = true; // nothing is recorded here
  }
  document.querySelector(".rooms a[href='#recordings']").hidden = section.hidden;
}

byId("record-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const name = event.target.elements.stream.value.trim(), on = event.submitter.value === "on";
  await act(() => api.record(name, on), on ? `${name} is recorded.` : `${name} is not recorded any more.`);
  await ask();
});
