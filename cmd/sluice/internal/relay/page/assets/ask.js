// Asks for the API token in a dialog.
import { byId, setText } from "./dom.js";
import { refusal, setToken } from "./api.js";

const dialog = byId("api-token");
const form = byId("api-token-form");
const value = byId("api-token-value");
let answer = null;

form.addEventListener("submit", (event) => {
  event.preventDefault(); // the policy of the page forbids forms to go anywhere
  setToken(value.value.trim());
  close(true);
});
byId("api-token-cancel").addEventListener("click", () => close(false));
dialog.addEventListener("close", () => close(false)); // Escape

function close(given) {
  value.value = "";
  answer?.(given);
  answer = null;
  if (dialog.open) dialog.close();
}

// askForToken resolves to whether a token was given.
export function askForToken(why) {
  setText(byId("api-token-why"), refusal(why));
  return new Promise((resolve) => {
    answer?.(false);
    answer = resolve;
    if (!dialog.open) dialog.showModal();
    value.focus();
  });
}
