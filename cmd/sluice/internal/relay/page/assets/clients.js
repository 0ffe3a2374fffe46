// The clients of a stream, and closing one.
import { arrange, byId, element, setText } from "./dom.js";
import { kick } from "./api.js";
import { askForToken } from "./ask.js";
import * as f from "./format.js";

const most = 100; // rows: a longer table is not readable
const heads = ["Client", "By", "Address", "Program", "For", "Got", "Behind", "Jumps", "Dropped", ""];
const rows = new Map(); // id -> <tr>
const body = element("tbody", { role: "rowgroup" });

// A narrow page shows rows as cards, by CSS that takes the meaning of a table
// from it; the roles give it back.
byId("clients").append(element("table", { role: "table", "aria-labelledby": "clients-title" },
  element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, ...heads.map((h) =>
    element("th", { role: "columnheader", scope: "col" }, h || element("span", { class: "unseen" }, "Close"))))),
  body));

async function close(c, button) {
  const status = byId("clients-status");
  button.disabled = true;
  try {
    for (;;) {
      try {
        await kick(c.id);
        setText(status, `${c.id} was closed.`);
        rows.get(c.id)?.classList.add("gone");
        return;
      } catch (err) {
        if (err.status === 404) {
          setText(status, `${c.id} was gone already.`);
          return;
        }
        if (err.status !== 401 || !(await askForToken("The server closes clients only for those who know its API token."))) {
          setText(status, `${c.id} was not closed. ${err.message}`);
          return;
        }
      }
    }
  } finally {
    button.disabled = false;
  }
}

function row(c) {
  const cells = heads.map((head) => element("td", { role: "cell", "data-head": head }));
  const button = element("button", { type: "button", class: "kick", "aria-label": `Kick ${c.id}`, "data-client": c.id }, "Kick");
  // Closing a publisher ends the stream for everybody: not by one slip of a finger.
  const ask = (text, label) => {
    setText(button, text);
    button.setAttribute("aria-label", label);
  };
  let sure = c.role !== "publisher";
  button.addEventListener("click", () => {
    if (sure) {
      close(c, button);
      return;
    }
    sure = true;
    ask("Really kick?", `Really kick ${c.id}? It publishes the stream.`);
    setTimeout(() => {
      sure = false;
      ask("Kick", `Kick ${c.id}`);
    }, 4000);
  });
  cells.at(-1).append(button);
  return element("tr", { role: "row" }, ...cells);
}

// show lists the clients of the stream, publishers first.
export function show(clients, name, now) {
  const all = clients.filter((c) => c.stream === name);
  const publishers = all.filter((c) => c.role === "publisher");
  const shown = [...publishers, ...all.filter((c) => c.role !== "publisher")].slice(0, most);
  const ids = new Set(shown.map((c) => c.id));
  for (const id of rows.keys()) if (!ids.has(id)) rows.delete(id);
  arrange(body, shown.map((c) => {
    let tr = rows.get(c.id);
    if (!tr) rows.set(c.id, (tr = row(c)));
    const viewer = c.role !== "publisher";
    const values = [
      `${viewer ? "" : "Publisher "}${c.id}`, f.protocol(c.protocol), f.readable(c.address || "–"), f.readable(c.agent || "–"), c.since ? f.age(c.since, now) : "–",
      f.bytes(c.bytes), viewer ? f.milliseconds(c.lag_ms) : "–", viewer ? f.count(c.jumps) : "–", viewer ? f.count(c.dropped) : "–",
    ];
    values.forEach((v, i) => {
      setText(tr.cells[i], v);
      tr.cells[i].toggleAttribute("data-none", v === "–");
    });
    tr.cells[3].title = values[3];
    return tr;
  }));
  byId("clients").hidden = shown.length === 0;
  setText(byId("clients-count"), all.length > most ? `${f.count(all.length)}, the first ${most} are shown` : String(all.length));
}
