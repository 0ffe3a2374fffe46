// Light, dark, or as the system has it. A classic script in the head, so that
// the page is never painted in the wrong one first.
(() => {
  "use strict";
  const key = "sluice.theme";
  const order = ["auto", "light", "dark"];
  const root = document.documentElement;

  const stored = () => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null; // storage may be forbidden
    }
  };
  let theme = order.includes(stored()) ? stored() : "auto";
  const apply = () => {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
  };
  apply();

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const label = () => {
      button.textContent = `Theme: ${theme}`;
      button.title = "Auto: as the system has it; light; dark";
    };
    label();
    button.addEventListener("click", () => {
      theme = order[(order.indexOf(theme) + 1) % order.length];
      try {
        localStorage.setItem(key, theme);
      } catch { /* it then holds until the page is left */ }
      apply();
      label();
    });
  });
})();
