// Bans: listing, adding, lifting.
import * as api from "../api.js";
import { byId, setText } from "../dom.js";
import * as f from "../format.js";
import { act } from "./act.js";
import { button, table } from "./table.js";

const show = table(document.querySelector("#bans .cards"), "bans-title", [
  ["Ban", (b) => b.id],
  ["By", (b) => b.by],
  ["Value", (b) => f.readable(b.value)],
  ["From", (b) => (b.action ? `${b.action}ing` : "everything")],
  ["Until", (b) => new Date(b.until).toLocaleString()],
  ["", (row) => [button("Lift", () => `Lift ban ${row().id}`, async () => {
    await act(() => api.lift(row().id), `Ban ${row().id} was lifted.`);
    await ask();
  })]],
], "No address, stream or token is banned.");

export async function ask() {
  const list = await api.bans();
  show(list, (b) => b.id);
  setText(document.querySelector("#bans-title span"), f.count(list.length));
}

const form = byId("ban-form");
form.elements.by.addEventListener("change", () => {
  form.querySelector("[data-for=stream]").hidden = form.elements.by.value !== "stream";
  form.elements.value.placeholder = { address: "192.0.2.7", stream: "live/cam1", token: "cam7" }[form.elements.by.value];
});
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { by, value, action } = form.elements;
  const ban = { by: by.value, value: value.value.trim(), for: form.elements.for.value.trim() };
  if (ban.by === "stream") ban.action = action.value;
  if (await act(() => api.ban(ban), `${ban.value} is banned.`)) value.value = "";
  await ask();
});
