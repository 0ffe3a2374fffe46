// From when a stream is played: live, or from what the server has recorded of it.
import { rewind } from "./api.js";
import { byId, element } from "./dom.js";

const label = byId("past-label");
const select = byId("past");
const choices = [["", "live"], ["-30s", "30 seconds ago"], ["-2m", "2 minutes ago"], ["-10m", "10 minutes ago"], ["-1h", "1 hour ago"], ["-6h", "6 hours ago"]];
const seconds = (text) => Number(text.slice(1, -1)) * { s: 1, m: 60, h: 3600 }[text.at(-1)];
const begin = "begin";
let since = ""; // of the recording, as the server says
let asked = ""; // the stream that find asks for

select.append(...[...choices, [begin, "the recording’s beginning"]].map(([value, text]) => element("option", { value }, text)));

// from is what the address of the media says; "" for live. Distances from now stay: who
// connects again goes on where the picture was.
export const from = () => (label.hidden ? "" : select.value === begin ? since : select.value);

export const onChange = (f) => select.addEventListener("change", f);

export function reset() {
  select.value = since = asked = "";
  label.hidden = true;
}

// find asks for what the API, which may need its token, has not said of a stream.
export async function find(name, token) {
  asked = name;
  try {
    const answer = await rewind(name, token);
    if (asked === name) offer(answer, Date.now());
  } catch { /* the player says what is wrong */ }
}

// offer shows the times that there are in what was recorded.
export function offer(stream, now) {
  if (!stream) return; // not known, or gone for a moment
  since = stream.recorded_since ?? "";
  label.hidden = !since;
  const age = (now - Date.parse(since)) / 1000;
  for (const option of select.options) {
    if (option.value.startsWith("-")) option.hidden = option.disabled = !(seconds(option.value) < age);
  }
}
