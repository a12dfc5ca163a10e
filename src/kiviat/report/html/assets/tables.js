// Tables wider than their place become lists: a block for each row, with the heads of columns before the values.
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
  const label = (table) => {
    const heads = labels(table);
    const open = []; // cells of earlier rows that reach down, by column
    for (const body of table.tBodies) {
      for (const row of body.rows) {
        let column = 0;
        for (const cell of row.cells) {
          while (open[column] > 0) { open[column] -= 1; column += 1; }
          if (cell.colSpan === 1 && heads[column]) cell.dataset.label = heads[column];
          for (let step = 0; step < cell.colSpan; step += 1) open[column + step] = cell.rowSpan - 1;
          column += cell.colSpan;
        }
        for (; column < open.length; column += 1) if (open[column] > 0) open[column] -= 1;
      }
    }
  };
  const fit = (scroll) => {
    const table = scroll.querySelector("table");
    if (!table || !scroll.clientWidth) return;
    table.classList.remove("listed");
    if (table.scrollWidth > scroll.clientWidth + 1 && table.tHead) {
      label(table);
      table.classList.add("listed");
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
    for (const { target } of changes) if (target.classList && target.classList.contains("scroll")) fit(target);
  }).observe(document.getElementById("main"), { childList: true, subtree: true });
  resized();
})();
