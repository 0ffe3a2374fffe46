// The links at the foot of the page: a browser follows them without the API token, so where there is one
// the page fetches what they lead to.
import * as api from "./api.js";
import { askForToken } from "./ask.js";

async function show(path) {
  try {
    const text = await api.text(path);
    location.assign(URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" })));
  } catch (err) {
    if (!err.refused) location.assign(path); // the answer says what is wrong
    else if (await askForToken("It is shown with the server's API token.")) await show(path);
  }
}

for (const a of document.querySelectorAll('footer a[href^="/api/"], footer a[href="/metrics"]')) {
  a.addEventListener("click", (event) => {
    if (!api.guarded() || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    void show(a.getAttribute("href"));
  });
}
