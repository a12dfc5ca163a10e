// Before anything is painted: the reader's choice, otherwise the system's.
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem("kiviat-theme"); } catch { /* storage is refused to some local files */ }
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.script = "on"; // without it, all panels of charts are shown
  document.documentElement.dataset.theme = chosen || (dark ? "dark" : "light");
})();
