// Tables wider than their place become tight; if that does not help, lists: a block for each row, with the heads of
// columns before the values. Every table can be copied.
(() => {
  const labels = (table) => {
    const heads = [];
    for (const row of table.tHead ? table.tHead.rows : []) {
      let column = 0;
      for (const cell of row.cells) {
        while (heads[column] && heads[column].until > row.rowIndex) column += 1;
        for (let step = 0; step < cell.colSpan; step += 1) {
          const before = heads[column + step];
          const words = [before && before.words, cell.textContent.trim()].filter(Boolean).join(", ");
          heads[column + step] = { words, until: row.rowIndex + cell.rowSpan };
        }
        column += cell.colSpan;
      }
    }
    return heads.map((head) => (head ? head.words : ""));
  };
  // Rows of cells by column, with cells that reach down in each row that they reach, and the heading of their part.
  const grid = (table) => {
    const reaching = [], rows = [];
    for (const body of table.tBodies) {
      let part = "";
      for (const row of body.rows) {
        if (row.classList.contains("part")) { part = row.textContent; continue; }
        const line = [], cells = [...row.cells];
        for (let column = 0; cells.length || reaching[column]?.more > 0; column += 1) {
          if (reaching[column]?.more > 0) reaching[column].more -= 1;
          else { const cell = cells.shift(); reaching[column] = { cell, more: cell.rowSpan - 1 }; }
          line.push(reaching[column].cell);
        }
        rows.push({ part, line });
      }
    }
    return rows;
  };
  const label = (table) => {
    const heads = labels(table);
    for (const { line } of grid(table)) line.forEach((cell, column) => { if (heads[column]) cell.dataset.label = heads[column]; });
  };
  // Numbers as numbers, with their units in a column of their own, as is the smaller text below values.
  const lines = (table) => {
    const rows = grid(table), parts = rows.some(({ part }) => part);
    const own = (cell) => [...cell.childNodes].filter(({ className }) => className !== "below").map(({ textContent }) => textContent).join("").trim();
    const below = (cell) => [...cell.querySelectorAll(".below")].map(({ textContent }) => textContent).join("; ");
    const columns = labels(table).flatMap((head, at) => {
      const used = (read) => rows.some(({ line }) => read(line[at]));
      const column = (name, read) => (used(read) ? [[`${head}, ${name}`, ({ line }) => read(line[at])]] : []);
      const data = (name) => column(name, ({ dataset }) => dataset[name] ?? "");
      const bounds = [...data("low"), ...data("high")];
      const value = [[head, ({ line }) => line[at].dataset.value ?? own(line[at])]];
      return [...(bounds.length ? bounds : value), ...data("unit"), ...column("note", below)];
    });
    const all = [...(parts ? [["part", ({ part }) => part]] : []), ...columns];
    return [all.map(([name]) => name), ...rows.map((row) => all.map(([, read]) => read(row)))];
  };
  kiviat.csvOf = (table) => kiviat.csv((kiviat.lines.get(table) || (() => lines(table)))());
  const offer = (scroll) => {
    if (scroll.closest("figure") || scroll.nextElementSibling?.matches(".copies")) return;
    const title = scroll.getAttribute("aria-label");
    const copies = kiviat.element("div", { class: "copies", role: "group", "aria-label": `Copy ${title}` });
    const button = kiviat.element("button", { type: "button" }, "CSV");
    button.addEventListener("click", () => kiviat.copied(button, kiviat.csvOf(scroll.querySelector("table")), "text/csv", `${title.replace(/\W+/g, "-")}.csv`));
    copies.append(kiviat.element("span", {}, "copy"), button);
    scroll.after(copies);
  };
  const fit = (scroll) => {
    const table = scroll.querySelector("table");
    if (!table || !scroll.clientWidth) return;
    offer(scroll);
    const wide = () => table.tHead && table.scrollWidth > scroll.clientWidth + 1;
    table.classList.remove("listed", "tight");
    if (wide()) table.classList.add("tight");
    if (wide()) {
      label(table);
      table.classList.replace("tight", "listed");
    }
  };
  const all = () => document.querySelectorAll(".scroll").forEach(fit);
  let width = 0;
  const resized = () => { if (innerWidth !== width) { width = innerWidth; all(); } };
  addEventListener("resize", resized);
  addEventListener("beforeprint", () => document.querySelectorAll("table.listed").forEach((table) => table.classList.remove("listed")));
  addEventListener("afterprint", all);
  addEventListener("toggle", ({ target }) => target.querySelectorAll && target.querySelectorAll(".scroll").forEach(fit), true);
  new MutationObserver((changes) => {
    for (const { target } of changes) if (target.matches?.(".scroll, .scroll tbody")) fit(target.closest(".scroll"));
  }).observe(document.getElementById("main"), { childList: true, subtree: true });
  resized();
})();
