// Pages without charts: the button for light and dark, and light on paper.
(() => {
  const root = document.documentElement;
  const setTheme = (theme) => { root.dataset.theme = theme; };
  document.getElementById("theme").addEventListener("click", () => {
    setTheme(root.dataset.theme === "dark" ? "light" : "dark");
    try { localStorage.setItem("kiviat-theme", root.dataset.theme); } catch { /* as in theme.js */ }
  });
  let before = root.dataset.theme;
  addEventListener("beforeprint", () => { before = root.dataset.theme; setTheme("light"); });
  addEventListener("afterprint", () => setTheme(before));
})();
