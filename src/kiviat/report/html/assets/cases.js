// Tables, built when they are opened.
(() => {
  "use strict";
  const { page, table, all, element, quantity, plain, simulated, interval, remarks, where, curvesOf } = kiviat;

  const FIRST_ROWS = 300;
  const metric = (place) => table.metrics[table.metric[place]][0];
  const unit = (place) => table.metrics[table.metric[place]][1];
  const measure = (name) => ({ write: (place) => quantity(table[name][place], unit(place)), value: (place) => table[name][place] });
  // A simulation repeats itself: of one value there are no statistics.
  const once = (write) => (place) => (simulated(place) ? "–" : write(place));
  const STATISTICS = [
    { title: "95 % interval", kind: "n", write: (place) => interval(place, unit(place)), value: (place) => table.low[place], parts: ["low", "high"].map((name) => [`95 % interval, ${name}`, (place) => table[name][place]]) },
    { title: "Minimum", kind: "n", ...measure("minimum"), write: once(measure("minimum").write) },
    { title: "p99", kind: "n", write: (place) => (table.p99[place] === null ? "–" : quantity(table.p99[place], unit(place))), value: (place) => table.p99[place] },
    { title: "Launches", kind: "n", write: once((place) => String(table.launches[place])), value: (place) => table.launches[place] },
    { title: "Samples", kind: "n", write: once((place) => String(table.samples[place])), value: (place) => table.samples[place] },
    { title: "Spread", kind: "n", write: (place) => (table.spread[place] === null ? "–" : `${(100 * table.spread[place]).toFixed(1)} %`), value: (place) => table.spread[place] },
  ];
  const measured = page.runs.some(({ clock }) => clock !== "simulated");
  const COLUMNS = [
    { title: "Case", kind: "case", write: (place) => table.cases[table.case[place]], value: (place) => place },
    ...(page.runs.length > 1 ? [{ title: "Run", write: (place) => page.runs[table.run[place]].label }] : []),
    { title: "Metric", write: (place) => metric(place).replaceAll("_", " ") },
    { title: measured ? "Median" : "Predicted", kind: "n", ...measure("median") },
    ...(measured ? STATISTICS : []),
    { title: "Remarks", write: (place) => remarks(place).join(", ") },
  ];

  // A table of `items` in these columns; each writes a cell, and sorts by a value or else by what it writes. Of numbers
  // CSV has the values.
  function fill(box, columns, items, unitOf) {
    const body = element("tbody");
    const more = element("button", { type: "button", class: "more" }, `Show all ${items.length} rows`);
    const show = (count) => {
      body.replaceChildren(...items.slice(0, count).map((item) => {
        const row = element("tr");
        row.append(...columns.map(({ kind = "", write }, at) => element(at ? "td" : "th", { class: kind, ...(at ? {} : { scope: "row" }) }, write(item))));
        return row;
      }));
      more.hidden = count >= items.length;
    };
    const heads = columns.map(({ title, kind = "", write, value = write }) => {
      const head = element("th", { scope: "col", class: kind });
      const button = element("button", { type: "button" }, title);
      button.addEventListener("click", () => {
        const direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", direction);
        const sign = direction === "ascending" ? 1 : -1;
        const order = (a, b) => (a === null) - (b === null) || sign * (a < b ? -1 : a > b ? 1 : 0);
        items.sort((a, b) => order(value(a), value(b)));
        show(more.hidden ? items.length : FIRST_ROWS);
      });
      head.append(button);
      return head;
    });
    const head = element("thead"), line = element("tr"), whole = element("table");
    line.append(...heads);
    head.append(line);
    whole.append(head, body);
    const fields = [...columns.flatMap(({ title, kind, write, value, parts = [[title, kind === "n" ? value || write : write]] }) => parts), ["Unit", unitOf]];
    kiviat.lines.set(whole, () => [fields.map(([title]) => title), ...items.map((item) => fields.map(([, read]) => read(item)))]);
    more.addEventListener("click", () => show(items.length));
    show(FIRST_ROWS);
    box.replaceChildren(whole, more);
  }

  // Of points that are not in the table of summaries.
  function pointColumns({ x, categories }, unit) {
    const at = ({ curve, place }) => curve.x[place], value = ({ curve, place }) => curve.y[place];
    const bounds = ({ curve, place }) => (curve.low[place] === null ? [] : [curve.low[place], curve.high[place]]);
    return [
      { title: "Curve", write: ({ curve }) => curve.name },
      { title: x.title.replace(/^./, (letter) => letter.toUpperCase()), kind: "n", write: (item) => (categories ? categories[at(item)] : x.kind === "bytes" || x.kind === "quantity" ? where(x, at(item)) : plain(at(item))), value: at },
      { title: "Value", kind: "n", write: (item) => quantity(value(item), unit), value },
      { title: "Bounds", kind: "n", write: (item) => bounds(item).map((bound) => quantity(bound, unit)).join(" – ") || "–", value: (item) => bounds(item)[0] ?? null, parts: [["Low", (item) => bounds(item)[0]], ["High", (item) => bounds(item)[1]]] },
      { title: "Kind of bounds", write: (item) => (bounds(item).length ? item.curve.meaning : "") },
    ];
  }
  function fillValues(details) {
    const figure = details.closest("figure");
    const data = page.figures[figure.id], panel = data.panels[Number(figure.dataset.panel)];
    const box = details.lastElementChild;
    if (panel.traces.length) fill(box, COLUMNS, panel.traces.flatMap((trace) => trace.at), unit);
    else fill(box, pointColumns(data, panel.unit), curvesOf(figure.id).filter((curve) => !curve.smooth).flatMap((curve) => curve.x.map((_, place) => ({ curve, place }))), () => panel.unit);
  }
  function fillCases(details) {
    const { from, to } = details.dataset;
    fill(details.lastElementChild, COLUMNS, Array.from({ length: to - from + 1 }, (_, step) => Number(from) + step), unit);
  }
  const whenOpened = (selector, build) => all(selector).forEach((details) => {
    details.addEventListener("toggle", () => details.open && build(details));
  });
  whenOpened("details[data-values]", fillValues);
  whenOpened("details[data-from]", fillCases);
  all("figure[data-panel]").forEach((figure) => figure.addEventListener("panel", () => {
    all("details[data-values][open]", figure).forEach(fillValues);
  }));
})();
