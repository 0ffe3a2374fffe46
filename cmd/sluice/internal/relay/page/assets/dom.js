// Building elements. Everything that is shown is set as text: names of streams,
// addresses and agents come from strangers.

export const byId = (id) => document.getElementById(id);

// element makes <tag> with attributes and children, which are elements or text.
export function element(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") e.className = value;
    else if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) e.setAttribute(name, value === true ? "" : value);
  }
  e.append(...children);
  return e;
}

// setText leaves the element alone when it has that text, so that a selection
// in it and the place of a screen reader survive the next numbers.
export function setText(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

// terms shows [[name, value, hint]...] in a <dl>, keeping the elements of the
// names that stay.
export function terms(dl, rows) {
  const old = new Map();
  for (const div of dl.children) old.set(div.dataset.term, div);
  const now = rows.map(([name, value, hint]) => {
    let div = old.get(name);
    if (!div) {
      div = element("div", { "data-term": name }, element("dt", {}, name), element("dd"));
      if (hint) div.title = hint;
    }
    setText(div.lastChild, value);
    return div;
  });
  arrange(dl, now);
}

// arrange makes the given elements the children of parent, moving only what is
// out of place: moving an element takes the focus from it.
export function arrange(parent, elements) {
  elements.forEach((e, i) => {
    if (parent.children[i] !== e) parent.insertBefore(e, parent.children[i] ?? null);
  });
  while (parent.children.length > elements.length) parent.lastElementChild.remove();
}
