// A table whose rows stay the same elements while their values change. A narrow page
// shows rows as cards, by CSS that takes the meaning of a table from it; the roles
// give it back.
import { arrange, element, setText } from "../dom.js";

// table puts one below host, named by the element with the id label. columns are
// [head, value, {wide, bad}] with value and bad called with a row's data; a column
// without a head has what actions(data) returns once for each row: an element. Its
// show(list, key) shows the rows of list, where key(data) is unique, or the text empty
// when there are none. Before its first call there is neither.
export function table(host, label, columns, empty) {
  const rows = new Map(); // key -> {tr, data}
  const body = element("tbody", { role: "rowgroup" });
  const head = ([name]) => element("th", { role: "columnheader", scope: "col" }, name || element("span", { class: "unseen" }, "Actions"));
  const whole = element("table", { role: "table", "aria-labelledby": label },
    element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, ...columns.map(head))), body);
  const none = element("p", { class: "soft" }, empty);
  whole.hidden = none.hidden = true;
  host.append(whole, none);

  function row(data) {
    const cells = columns.map(([name, value, { wide = false } = {}]) => {
      const td = element("td", { role: "cell", "data-head": name, "data-wide": wide });
      if (!name) td.append(element("span", { class: "actions" }, ...value(() => rows.get(td.dataset.key).data)));
      return td;
    });
    return { tr: element("tr", { role: "row" }, ...cells), data };
  }

  return (list, key) => {
    const keys = new Set(list.map((data) => String(key(data))));
    for (const k of rows.keys()) if (!keys.has(k)) rows.delete(k);
    arrange(body, list.map((data) => {
      const k = String(key(data));
      let r = rows.get(k);
      if (!r) rows.set(k, (r = row(data)));
      r.data = data;
      columns.forEach(([name, value, { wide = false, bad } = {}], i) => {
        const td = r.tr.cells[i];
        if (!name) {
          td.dataset.key = k;
          return;
        }
        const text = value(data);
        setText(td, text);
        td.toggleAttribute("data-none", text === "–");
        td.toggleAttribute("data-bad", Boolean(bad?.(data)));
        td.title = wide || text.length > 30 ? text : ""; // it may be cut off
      });
      return r.tr;
    }));
    whole.hidden = list.length === 0;
    none.hidden = list.length > 0;
  };
}

// button is a small one in a row. With a second label it has to be pressed twice
// within four seconds: what it does should not happen by one slip of a finger.
export function button(text, describe, act, sure) {
  const b = element("button", { type: "button" }, text);
  let asked = !sure;
  b.addEventListener("focus", () => b.setAttribute("aria-label", describe()));
  b.addEventListener("mouseenter", () => b.setAttribute("aria-label", describe()));
  b.addEventListener("click", async () => {
    if (!asked) {
      asked = true;
      setText(b, sure);
      setTimeout(() => {
        asked = false;
        setText(b, text);
      }, 4000);
      return;
    }
    b.disabled = true;
    await act();
    b.disabled = false;
  });
  return b;
}
