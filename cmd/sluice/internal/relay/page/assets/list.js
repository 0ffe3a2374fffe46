// The list of streams: each a link that selects it.
import { where } from "./cluster.js";
import { arrange, byId, element, setText } from "./dom.js";
import { bitrate, plural, rate, readable } from "./format.js";
import { path } from "./lines.js";

const items = new Map(); // name -> <li>
const order = new Intl.Collator("en", { numeric: true });

export const link = (name) => `/?stream=${path(name)}`;

function item(name, onSelect) {
  const dot = element("span", { class: "dot" });
  const facts = element("span", { class: "facts" });
  const words = element("span", { class: "words" }, readable(name));
  const a = element("a", { href: link(name), title: readable(name), "data-name": name }, element("span", { class: "title" }, dot, words), facts);
  a.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return; // a new tab
    event.preventDefault();
    onSelect(name);
  });
  return Object.assign(element("li", {}, a), { a, dot, facts });
}

// show lists the streams, those whose names have what is in the filter.
export function show(streams, selected, onSelect) {
  const filter = byId("filter");
  byId("filter-label").hidden = streams.length < 8;
  const wanted = streams.length < 8 ? "" : filter.value.trim().toLowerCase();
  const shown = streams.filter((s) => s.name.toLowerCase().includes(wanted)).sort((a, b) => order.compare(a.name, b.name));

  const names = new Set(streams.map((s) => s.name));
  for (const name of items.keys()) if (!names.has(name)) items.delete(name);
  arrange(byId("list"), shown.map((s) => {
    let li = items.get(s.name);
    if (!li) items.set(s.name, (li = item(s.name, onSelect)));
    li.dot.dataset.state = s.state;
    setText(li.facts, s.state === "live"
      ? [plural(s.viewers, "viewer"), bitrate(s.bitrate_in), rate(s.frame_rate), where(s)].filter(Boolean).join(" · ")
      : `publisher gone, ${plural(s.viewers, "viewer")} waiting`);
    if (s.name === selected) li.a.setAttribute("aria-current", "true");
    else li.a.removeAttribute("aria-current");
    return li;
  }));
  setText(byId("streams-count"), wanted ? `${shown.length} of ${streams.length}` : String(streams.length));
  byId("streams").hidden = streams.length === 0;
}
