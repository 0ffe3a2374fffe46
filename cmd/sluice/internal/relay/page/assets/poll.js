// Asks again and again: every two seconds, less often while the page is hidden.
const period = 2000;
const hiddenPeriod = 15_000;

// repeat returns what calls ask at once, and from then on again and again, never twice at
// a time.
export function repeat(ask) {
  let timer = 0;
  let asking = false;
  async function again() {
    clearTimeout(timer);
    if (asking) return;
    asking = true;
    await ask();
    asking = false;
    timer = setTimeout(again, document.hidden ? hiddenPeriod : period);
  }
  document.addEventListener("visibilitychange", () => document.hidden || again());
  return again;
}
