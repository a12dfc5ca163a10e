// The button for light and dark; paper is always light, see report.css.
(() => {
  "use strict";
  const root = document.documentElement;
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("kiviat-theme", root.dataset.theme); } catch { /* as in theme.js */ }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ({ matches }) => {
    let chosen = null;
    try { chosen = localStorage.getItem("kiviat-theme"); } catch { /* as in theme.js */ }
    if (!chosen) root.dataset.theme = matches ? "dark" : "light";
  });
})();
