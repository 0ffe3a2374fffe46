"use strict";
// Going into a part of a flame graph, and looking for a name. The page is complete
// without this: every frame is drawn, with its figures as its title.
for (const figure of document.querySelectorAll(".flame")) {
  const frames = [...figure.querySelectorAll("svg.frame")].map((e) => ({
    e, x: +e.dataset.x, w: +e.dataset.w, d: +e.dataset.d, name: e.dataset.n,
    full: e.querySelector("title").textContent, text: e.querySelector("text"),
  }));
  const tools = figure.querySelector(".flametools");
  const back = tools.querySelector("button"), find = tools.querySelector("input"), found = tools.querySelector("output");
  let at = frames[0];
  tools.hidden = false;

  function draw() {
    const pixels = figure.clientWidth || 700;
    for (const f of frames) {
      const around = f.d < at.d && f.x <= at.x + 1e-9 && f.x + f.w >= at.x + at.w - 1e-9;
      const inside = f.d >= at.d && f.x >= at.x - 1e-9 && f.x + f.w <= at.x + at.w + 1e-9;
      f.e.style.display = around || inside ? "" : "none";
      if (!around && !inside) continue;
      const x = around ? 0 : (f.x - at.x) / at.w, w = around ? 1 : f.w / at.w;
      f.e.setAttribute("x", x * 100 + "%");
      f.e.setAttribute("width", w * 100 + "%");
      f.e.classList.toggle("around", around);
      if (!f.text) {
        f.text = document.createElementNS(f.e.namespaceURI, "text");
        f.text.setAttribute("x", 4);
        f.text.setAttribute("y", 13);
        f.text.textContent = f.name;
        f.e.append(f.text);
      }
      f.text.style.display = w * pixels > 24 ? "" : "none";
    }
    back.disabled = at === frames[0];
  }
  function search() {
    const what = find.value.trim().toLowerCase();
    let sum = 0, end = -1;
    for (const f of [...frames].sort((a, b) => a.x - b.x || a.d - b.d)) {
      const hit = what !== "" && f.full.split("\n")[0].toLowerCase().includes(what);
      f.e.classList.toggle("hit", hit);
      if (hit && f.x >= end - 1e-9) {
        sum += f.w;
        end = f.x + f.w;
      }
    }
    found.textContent = what === "" ? "" : (sum * 100).toFixed(1) + " %";
  }
  for (const f of frames) f.e.addEventListener("click", () => { at = f; draw(); });
  back.addEventListener("click", () => { at = frames[0]; draw(); });
  find.addEventListener("input", search);
  find.addEventListener("keydown", (e) => {
    const hits = frames.filter((f) => f.e.classList.contains("hit"));
    if (e.key !== "Enter" || hits.length === 0) return;
    at = hits.reduce((a, b) => (b.w > a.w ? b : a));
    draw();
  });
  addEventListener("resize", draw);
  addEventListener("beforeprint", () => { at = frames[0]; draw(); });
  draw();
}
// What is moved sideways can be, with the keyboard.
for (const wide of document.querySelectorAll(".wide")) if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
