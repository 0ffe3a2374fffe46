// A line of text with a button that copies it.
import { element, setText } from "./dom.js";

// words breaks a line between its words only: a break after the hyphen of an option
// looks like a space.
const words = (text) => text.split(" ").flatMap((word, i) => [...(i ? [" "] : []), element("span", { class: "word" }, word)]);

async function copy(text, from) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // The clipboard is for secure contexts, and a relay in the house often has no
    // certificate. The old command works on a selection.
    getSelection().selectAllChildren(from);
    return document.execCommand("copy");
  }
}

// copyLine returns the element; its update(text) changes what it shows. hint is
// a sentence below the line, link makes the text a link to itself.
export function copyLine(label, { hint = "", link = false } = {}) {
  const text = element(link ? "a" : "code", { class: "text" });
  const said = element("span", { class: "unseen", role: "status" });
  const button = element("button", { type: "button", class: "copy", "aria-label": `Copy: ${label}` }, "Copy");
  let timer = 0;
  button.addEventListener("click", async () => {
    const done = await copy(text.textContent, text);
    setText(button, done ? "Copied" : "Press Ctrl+C");
    setText(said, done ? `${label}: copied` : `${label}: selected, press Control C`);
    clearTimeout(timer);
    timer = setTimeout(() => {
      setText(button, "Copy");
      setText(said, "");
    }, 2500);
  });
  const line = element("div", { class: "line" }, element("div", { class: "label" }, label), text, button, said);
  const more = element("p", { class: "soft hint" }, hint);
  more.hidden = !hint;
  line.append(more);
  line.say = (text) => { // changes the hint
    setText(more, text);
    more.hidden = !text;
  };
  line.update = (value) => {
    if (text.textContent === value) return;
    text.replaceChildren(...words(value));
    if (link) text.href = value;
  };
  return line;
}
