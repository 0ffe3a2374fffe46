// Charts of the last minutes, as SVG that takes its colours from the style.
import { byId, element, setText } from "./dom.js";
import { bitrate, count, duration, rate } from "./format.js";

const width = 300;
const height = 80;

function svg(tag, attributes) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  return e;
}

// A chart is given at construction [[key, name]...] of its lines, which are keys of
// the history, and how a value is written.
class Chart {
  constructor(title, lines, format) {
    this.history = { length: 0, step: 2000 }; // step: ms between values
    this.lines = lines.map(([key, name]) => ({ key, name, path: svg("path", { class: `plot ${key}`, "vector-effect": "non-scaling-stroke" }) }));
    this.title = title;
    this.format = (v) => format(v, this.history.step);
    this.cursor = svg("line", { class: "cursor", y1: 0, y2: height, "vector-effect": "non-scaling-stroke" });
    this.cursor.style.display = "none";
    this.picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img" });
    for (const y of [0, height / 2, height]) this.picture.append(svg("line", { class: "grid", x1: 0, x2: width, y1: y, y2: y, "vector-effect": "non-scaling-stroke" }));
    this.picture.append(...this.lines.map((l) => l.path), this.cursor);
    this.value = element("span", { class: "value" });
    this.top = element("span", { class: "scale" });
    this.from = element("span");
    this.to = element("span", {}, "now");
    this.element = element("figure", { class: "chart" },
      element("figcaption", {}, element("span", {}, title), this.value),
      element("div", { class: "area" }, this.picture, this.top),
      element("div", { class: "axis soft", "aria-hidden": "true" }, this.from, this.to));
    this.picture.addEventListener("pointermove", (event) => {
      const box = this.picture.getBoundingClientRect();
      this.point((event.clientX - box.left) / box.width);
    });
    this.picture.addEventListener("pointerleave", () => this.point(null));
  }

  // point reads the values at a place between 0 and 1, or the newest.
  point(at) {
    this.at = at;
    const n = this.history.length;
    const i = at === null || at === undefined ? n - 1 : Math.round(Math.min(1, Math.max(0, at)) * (n - 1));
    const read = (l) => `${l.name ? l.name + " " : ""}${this.format(l.values[i])}`;
    setText(this.value, n ? this.lines.map(read).join(", ") : "–");
    this.cursor.style.display = n && i !== n - 1 ? "" : "none";
    if (n > 1) {
      this.cursor.setAttribute("x1", (i / (n - 1)) * width);
      this.cursor.setAttribute("x2", (i / (n - 1)) * width);
      setText(this.to, i === n - 1 ? "now" : `at ${ago((n - 1 - i) * this.history.step)}`);
    }
  }

  show(history) {
    const length = Math.max(0, ...this.lines.map((l) => history?.[l.key]?.length ?? 0));
    this.history = { length, step: history?.step_ms ?? 2000 };
    let top = 0;
    for (const l of this.lines) {
      l.values = history?.[l.key] ?? [];
      for (const v of l.values) if (v > top) top = v;
    }
    const scale = ceiling(top);
    for (const l of this.lines) {
      const points = l.values.map((v, i) => `${((i / Math.max(1, length - 1)) * width).toFixed(1)} ${(height - ((Math.max(0, v) || 0) / scale) * height).toFixed(1)}`);
      l.path.setAttribute("d", points.length > 1 ? "M" + points.join("L") : "");
    }
    setText(this.top, length ? this.format(scale) : "");
    setText(this.from, length > 1 ? ago((length - 1) * this.history.step) : "");
    this.picture.setAttribute("aria-label", this.lines.map((l) => summary(`${this.title}${l.name ? " " + l.name : ""}`, l.values, this.format)).join(" "));
    this.point(this.at);
  }
}

const ago = (ms) => (ms >= 90_000 ? `${Math.round(ms / 60_000)} min ago` : `${duration(ms / 1000)} ago`);

// ceiling is a round number above, so that the scale seldom jumps.
function ceiling(top) {
  if (!(top > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(top));
  return [1, 2, 3, 4, 5, 6, 8, 10].map((m) => m * power).find((c) => c >= top * 1.05) ?? 2 * top;
}

function summary(name, values, format) {
  if (!values.length) return `${name}: no values yet.`;
  return `${name}: now ${format(values.at(-1))}, lowest ${format(Math.min(...values))}, highest ${format(Math.max(...values))}.`;
}

const charts = [
  new Chart("Viewers", [["viewers", ""]], count),
  new Chart("Bitrate", [["in", "in"], ["out", "out"]], bitrate),
  new Chart("Frame rate", [["fps", ""]], rate),
  new Chart("Frames dropped", [["dropped", ""]], (n, step) => `${count(n)} in ${duration(step / 1000)}`),
];
byId("charts").append(...charts.map((c) => c.element));

// show draws the history of a stream; null empties the charts.
export const show = (history) => charts.forEach((c) => c.show(history));
