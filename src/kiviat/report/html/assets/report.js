// Draws figures and tables from the one table of summaries that the page carries.
(() => {
  "use strict";
  const page = JSON.parse(document.getElementById("kiviat-data").textContent);
  const table = page.table;
  const root = document.documentElement;
  const all = (selector) => [...document.querySelectorAll(selector)];
  function element(name, attributes = {}, text = "") {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.textContent = text;
    return node;
  }

  // ---- Words: what kiviat.record.units says in Python; a test compares the two.

  const PREFIX = { "-3": "n", "-2": "µ", "-1": "m", 0: "", 1: "k", 2: "M", 3: "G", 4: "T", 5: "P", 6: "E" };
  const SCALED = { s: [-3, 0], "B/s": [0, 6], "1/s": [0, 6], "flop/s": [0, 6], "op/s": [0, 6], J: [-2, 6], W: [-2, 6] };
  const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

  function threeDigits(value) {
    if (value === 0) return "0";
    const [, exponent] = value.toExponential(2).split("e");
    if (Number(exponent) < -4) return value.toExponential(2);
    return Number(value.toExponential(2)).toFixed(Math.max(0, 2 - Number(exponent)));
  }
  function quantity(value, unit, write = threeDigits) {
    if (value === null) return "unavailable";
    if (unit === "B") return bytes(Math.round(value));
    const [lowest, highest] = SCALED[unit] || [0, 0];
    let power = 0;
    if (value) {
      const rounded = Math.abs(Number(value.toExponential(2)));
      power = Math.min(Math.max(Math.floor(Math.log10(rounded) / 3 + 1e-9), lowest), highest);
    }
    const number = write(value / 1000 ** power);
    if (unit === "1") return number;
    return unit === "1/s" && power ? `${number} ${PREFIX[power]}/s` : `${number} ${PREFIX[power]}${unit}`;
  }
  function bytes(count) {
    let power = 0;
    for (; count >= 1024 && power < BINARY.length - 1; power += 1) count /= 1024;
    return `${Number.isInteger(count) ? count : threeDigits(count)} ${BINARY[power]}`;
  }
  const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : noun.endsWith("ch") ? "es" : "s"}`;
  const simulated = (place) => page.runs[table.run[place]].clock === "simulated";
  const interval = (place, unit) => (table.low[place] === null ? "–"
    : `${quantity(table.low[place], unit)} – ${quantity(table.high[place], unit)}`);
  function remarks(place) {
    const { clock } = page.runs[table.run[place]];
    return [
      ...(table.flags[place] & 1 ? ["target not reached"] : []),
      ...(table.flags[place] & 2 ? ["oversubscribed"] : []),
      ...(table.flags[place] & 4 ? ["disturbed"] : []),
      ...(clock === "wall" ? [] : [clock]),
    ];
  }
  // Plotly reads some HTML in its texts.
  const inert = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  // ---- Figures

  const style = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const STROKES = { solid: "", dash: "6 4", dot: "1.5 3", dashdot: "6 3 1.5 3", longdash: "10 4", longdashdot: "10 3 1.5 3" };
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "star", "triangle-down", "hexagon"];
  const GLYPHS = ["●", "■", "◆", "▲", "✚", "★", "▼", "⬢"];
  const HOLLOW = ["○", "□", "◇", "△", "✛", "☆", "▽", "⬡"];
  const SLOTS = { categorical: 8, ordinal: 8, simulated: 6 };

  function colour([palette, place, count]) {
    const slot = palette === "ordinal" ? Math.round((place * 7) / (count - 1)) : place % SLOTS[palette];
    return style(`--${palette}-${slot}`);
  }
  const translucent = (hex) => `${hex}2e`;
  // A logarithmic axis has no zero: messages of 0 B stand at one half.
  const abscissa = (figure, place) => table[figure.x][place] || 0.5;

  const numbered = (noun) => (number) => `${noun} ${number}`;
  const WHERE = {
    bytes, ranks: (count) => counted(Number.isInteger(count) ? count : plain(count), "rank"), sockets: (count) => counted(count, "socket"), launch: numbered("launch"),
    phase: numbered("phase"), distance: numbered("distance"), rank: numbered("rank"),
    hpl: (rate) => `HPL of ${quantity(rate, "flop/s")}`, intensity: (ratio) => `${threeDigits(ratio)} flop/B`,
  };
  const LINEAR = new Set(["launch", "phase", "rank"]);

  function hover(figure, trace, place) {
    const unit = figure.unit;
    const where = WHERE[figure.x](table[figure.x][place]);
    const said = `<b>${quantity(table.median[place], unit)}</b> at ${where}`;
    if (simulated(place)) return [inert(trace.name), said, "predicted by a model, not measured"].join("<br>");
    return [
      inert(trace.name),
      said,
      table.low[place] === null ? "no interval" : `95 %: ${interval(place, unit)}`,
      `${counted(table.launches[place], "launch")}, ${counted(table.samples[place], "sample")}`,
      `minimum ${quantity(table.minimum[place], unit)}`,
      ...(table.p99[place] === null ? [] : [`p99 ${quantity(table.p99[place], unit)}`]),
      ...remarks(place),
    ].join("<br>");
  }

  function band(x, low, high, ink, legendgroup) {
    return {
      x: [...x, ...[...x].reverse()], y: [...low, ...[...high].reverse()], mode: "lines", line: { width: 0 },
      fill: "toself", fillcolor: translucent(ink), hoverinfo: "skip", legendgroup,
    };
  }
  function lineHover(figure, line, place) {
    const [at, value] = line.points[place];
    const bounds = line.band[place];
    return [
      inert(line.name),
      `<b>${quantity(value, figure.unit)}</b> at ${WHERE[figure.x](at)}`,
      ...(bounds ? [`${inert(line.meaning)}: ${bounds.map((bound) => quantity(bound, figure.unit)).join(" – ")}`] : []),
    ].join("<br>");
  }

  function bars(line, y, ink) {
    const reach = (side) => y.map((value, place) => (line.band[place] ? Math.abs(line.band[place][side] - value) : 0));
    return { type: "data", symmetric: false, color: ink, thickness: 1.25, array: reach(1), arrayminus: reach(0) };
  }

  function traces(figure, panel) {
    const bands = [], curves = [];
    for (const trace of panel.traces) {
      const ink = colour(trace.colour);
      const x = (places) => places.map((place) => abscissa(figure, place));
      const y = (places, column) => places.map((place) => table[column][place]);
      const known = trace.at.filter((place) => table.low[place] !== null);
      const curve = {
        x: x(trace.at), y: y(trace.at, "median"), mode: "lines+markers",
        name: inert(trace.name), legendgroup: trace.name,
        line: { color: ink, width: 1.75, dash: trace.dash },
        marker: { color: ink, size: 5, symbol: SYMBOLS[trace.symbol % SYMBOLS.length] },
        hovertext: trace.at.map((place) => hover(figure, trace, place)), hoverinfo: "text",
      };
      if (trace.at.length > 1) {
        bands.push(band(x(known), y(known, "low"), y(known, "high"), ink, trace.name));
      } else if (known.length) {
        const [place] = known;
        curve.error_y = {
          type: "data", symmetric: false, color: ink, thickness: 1.25,
          array: [table.high[place] - table.median[place]], arrayminus: [table.median[place] - table.low[place]],
        };
      }
      curves.push(curve);
    }
    for (const line of panel.lines) {
      const ink = colour(line.colour);
      const x = line.points.map(([at]) => (figure.x === "bytes" ? at || 0.5 : at)), y = line.points.map(([, value]) => value);
      const known = line.points.map((_, place) => place).filter((place) => line.band[place]);
      if (known.length > 1 && line.mode !== "markers") {
        const bound = (side) => known.map((place) => line.band[place][side]);
        bands.push({ ...band(known.map((place) => x[place]), bound(0), bound(1), ink, line.name), meta: line.smooth });
      }
      curves.push({
        x, y, mode: line.mode, name: inert(line.name), legendgroup: line.name, meta: line.smooth,
        ...(known.length && line.mode === "markers" ? { error_y: bars(line, y, ink) } : {}),
        line: { color: ink, width: line.mode === "lines+markers" ? 1.75 : 1.25, dash: line.dash },
        marker: { color: ink, size: x.length > 64 ? 3 : line.mode === "markers" ? 6 : 5, symbol: SYMBOLS[line.symbol % SYMBOLS.length] + (line.hollow ? "-open" : "") },
        hovertext: line.points.map((_, place) => lineHover(figure, line, place)), hoverinfo: "text",
      });
    }
    return [...bands, ...curves];
  }

  // Ticks; `low` and `high` of logarithmic axes are powers of ten, `most` is how many fit.
  function decimalTicks([low, high], most, write) {
    const powers = Array.from({ length: Math.floor(high) - Math.floor(low) + 1 }, (_, step) => Math.floor(low) + step);
    const [ticks, ...coarser] = [[1, 2, 5], [1, 3], [1]].map((factors) => powers
      .flatMap((power) => factors.map((factor) => Number(`${factor}e${power}`)))
      .filter((value) => Math.log10(value) >= low && Math.log10(value) <= high));
    if (ticks.length < 3) return linearTicks([10 ** low, 10 ** high], 4, write);
    const fitting = [ticks, ...coarser].find(({ length }) => length <= most) || coarser.at(-1);
    const step = Math.ceil(fitting.length / most);
    const values = fitting.filter((_, place) => place % step === 0);
    return { tickmode: "array", tickvals: values, ticktext: values.map(write) };
  }
  // Ticks at values that occur, the largest and the smallest among them, as many as fit.
  function valueTicks(values, scale, most, write) {
    const occurring = [...new Set(values)].sort((a, b) => b - a);
    const smallest = occurring.at(-1);
    const apart = (scale(occurring[0]) - scale(smallest)) / most;
    const kept = [];
    for (const value of occurring) {
      if (!kept.length || scale(kept.at(-1)) - scale(value) >= apart) kept.push(value);
    }
    if (kept.at(-1) !== smallest) kept.splice(kept.length > 1 ? -1 : 1, 1, smallest);
    return { tickmode: "array", tickvals: kept, ticktext: kept.map(write) };
  }
  function linearTicks([low, high], most, write) {
    const rough = (high - low) / most;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    const values = [];
    for (let tick = Math.ceil(low / step); tick * step <= high; tick += 1) values.push(tick * step);
    return { tickmode: "array", tickvals: values, ticktext: values.map(write) };
  }
  // The range of an axis, in powers of ten if it is logarithmic.
  function span(values, log, zero) {
    const shown = log ? values.filter((value) => value > 0).map(Math.log10) : values;
    if (!shown.length) return [0, 1];
    const low = Math.min(...shown), high = Math.max(...shown);
    if (zero) return [Math.max(-100, Math.min(0, low * 1.05)), Math.max(1, high * 1.05)]; // or the worst share hides all others
    const margin = Math.max((high - low) * 0.04, log ? 0.08 : Math.abs(high) * 0.01, 1e-12);
    return [low - margin, high + margin];
  }
  const plain = (number) => String(Number(number.toPrecision(3)));
  const X_TICK = { bytes: (size) => (size < 1 ? "0 B" : bytes(size)), hpl: (rate) => quantity(rate, "flop/s", plain), intensity: plain };
  const X_TITLE = { bytes: "message size", distance: "distance in ranks", hpl: "HPL", intensity: "flop/B" };
  const MEASURED = new Set(["hpl", "intensity"]); // ticks at round values; elsewhere at those that were asked for
  function ticks(figure, data, width, [low, high], y) {
    const narrow = width < 460;
    const write = (value) => quantity(value, figure.unit, plain);
    const scale = LINEAR.has(figure.x) ? Number : Math.log10;
    const shown = data.flatMap((trace) => (trace.meta ? [] : trace.x)).filter((value) => scale(value) >= low && scale(value) <= high);
    return {
      x: MEASURED.has(figure.x) ? decimalTicks([low, high], narrow ? 4 : 7, X_TICK[figure.x]) : valueTicks(shown, scale, narrow ? 5 : 8, X_TICK[figure.x] || String),
      y: figure.log ? decimalTicks(y, narrow ? 6 : 8, write) : linearTicks(y, 6, write),
    };
  }

  function common(width) {
    const narrow = width < 460;
    return {
      width, margin: { l: 8, r: 16, t: 8, b: 8 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: style("--sans"), size: narrow ? 11 : 12, color: style("--ink-2") },
      hoverlabel: {
        bgcolor: style("--paper"), bordercolor: style("--rule"), align: "left",
        font: { family: style("--sans"), size: 12, color: style("--ink") },
      },
      hovermode: "closest",
      dragmode: narrow ? false : "zoom", // on a telephone a finger scrolls the page
      showlegend: false, // ours is outside, where it takes nothing from the plot
    };
  }
  function layout(figure, data, width) {
    const narrow = width < 460;
    const logX = !LINEAR.has(figure.x);
    const x = span(data.flatMap((trace) => trace.x), logX, false);
    const reach = ({ y: middles, error_y: bar }) => (bar ? middles.flatMap((middle, at) => [middle - bar.arrayminus[at], middle + bar.array[at]]) : []);
    const y = span(data.flatMap((trace) => [...trace.y, ...reach(trace)]), figure.log, figure.unit === "%");
    const marks = ticks(figure, data, width, x, y);
    const axis = {
      gridcolor: style("--grid"), linecolor: style("--rule"), tickcolor: style("--rule"),
      zeroline: false, automargin: true, ticks: "outside", ticklen: 4,
    };
    return {
      ...common(width), height: narrow ? 300 : 340,
      xaxis: { ...axis, type: logX ? "log" : "linear", range: x, title: { text: X_TITLE[figure.x] || figure.x, standoff: 8, font: { size: 12 } }, ...marks.x },
      yaxis: { ...axis, type: figure.log ? "log" : "linear", range: y, ...marks.y },
      ...marked(figure.marks || []),
    };
  }
  // Vertical lines: switches named above, caches below. Plotly takes the logarithm of x of annotations only.
  function marked(marks) {
    const ink = ({ kind }) => style(kind === "cache" ? "--ink-2" : "--warn");
    return {
      shapes: marks.map((mark) => ({
        type: "line", xref: "x", yref: "paper", x0: mark.x, x1: mark.x, y0: 0, y1: 1, layer: "below",
        line: { color: ink(mark), width: mark.kind === "cache" ? 0.75 : 1, dash: mark.kind === "cache" ? "dot" : "dash" },
      })),
      annotations: marks.map((mark) => ({
        xref: "x", yref: "paper", x: Math.log10(mark.x), y: mark.kind === "cache" ? 0 : 1, text: inert(mark.label),
        xanchor: "right", yanchor: mark.kind === "cache" ? "bottom" : "top", textangle: -90, showarrow: false,
        font: { size: 11, color: ink(mark) },
      })),
    };
  }

  const CONFIG = {
    displaylogo: false, showLink: false, typesetMath: false, doubleClick: "reset",
    modeBarButtons: [["toImage", "resetScale2d"]],
  };

  const figureOf = (node) => page.figures[node.dataset.figure];
  const panelOf = (node) => figureOf(node).panels[Number(node.dataset.panel)];

  function swatch({ colour: which, mode = "lines+markers", dash = "solid", symbol, hollow = false }) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const part = (name, attributes) => {
      const node = document.createElementNS(svg.namespaceURI, name);
      for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
      return svg.appendChild(node);
    };
    const ink = colour(which);
    svg.setAttribute("aria-hidden", "true");
    if (mode.includes("lines")) part("path", { d: "M0 6H30", stroke: ink, "stroke-width": 1.75, "stroke-dasharray": STROKES[dash] });
    if (mode.includes("markers")) {
      part("text", { x: 15, y: 9.5, "text-anchor": "middle", "font-size": 10, fill: ink }).textContent = (hollow ? HOLLOW : GLYPHS)[symbol % GLYPHS.length];
    }
    return svg;
  }
  function legend(node) {
    const { traces: curves = [], lines = [] } = panelOf(node);
    const entries = new Map([...curves, ...lines].map((entry) => [entry.name, entry]));
    const items = entries.size < 2 ? [] : [...entries].map(([name, entry]) => {
      const item = element("li"), button = element("button", { type: "button", "aria-pressed": "true" });
      button.append(swatch(entry), element("span", {}, name));
      button.addEventListener("click", () => {
        const visible = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", visible);
        const places = node.data.flatMap((trace, place) => (trace.legendgroup === name ? [place] : []));
        Plotly.restyle(node, { visible }, places);
      });
      item.append(button);
      return item;
    });
    node.closest("figure").querySelector(".legend").replaceChildren(...items);
  }
  function draw(node, width = node.clientWidth) {
    const figure = figureOf(node);
    const first = !node.dataset.drawn;
    node.dataset.drawn = width;
    if (figure.map) {
      const { data, layout: square } = heatMap({ figure, panel: panelOf(node), width, style, quantity, inert });
      Plotly.react(node, data, { ...common(width), ...square }, { ...CONFIG, scrollZoom: false });
      return;
    }
    const data = traces(figure, panelOf(node));
    Plotly.react(node, data, layout(figure, data, width), CONFIG);
    if (first) node.on("plotly_relayout", (change) => zoomed(node, change));
  }
  function zoomed(node, change) {
    if (!Object.keys(change).some((key) => key.includes("range"))) return;
    const { xaxis, yaxis } = node.layout;
    const marks = ticks(figureOf(node), node.data, node.clientWidth, xaxis.range, yaxis.range);
    const update = {};
    for (const name of ["x", "y"]) {
      for (const part of ["tickvals", "ticktext"]) update[`${name}axis.${part}`] = marks[name][part];
    }
    Plotly.relayout(node, update);
  }
  const drawn = () => all("[data-drawn]");

  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      if (!target.dataset.drawn) draw(target);
    }
  }, { rootMargin: "300px" });
  all("[data-figure]").forEach((node) => {
    legend(node); // now, so that nothing moves later
    seen.observe(node);
  });

  addEventListener("resize", () => drawn().forEach((node) => {
    if (Number(node.dataset.drawn) !== node.clientWidth) draw(node);
  }));

  all("select[data-for]").forEach((select) => select.addEventListener("change", () => {
    const node = document.getElementById(select.dataset.for);
    node.dataset.panel = select.value;
    legend(node);
    draw(node);
    all(`details[data-values="${node.id}"][open]`).forEach(fillValues);
  }));

  // ---- Tables, built when they are opened

  const FIRST_ROWS = 300;
  const metric = (place) => table.metrics[table.metric[place]][0];
  const unit = (place) => table.metrics[table.metric[place]][1];
  const measure = (name) => ({ write: (place) => quantity(table[name][place], unit(place)), value: (place) => table[name][place] });
  // A simulation repeats itself: of one value there are no statistics.
  const once = (write) => (place) => (simulated(place) ? "–" : write(place));
  const STATISTICS = [
    { title: "95 % interval", kind: "n", write: (place) => interval(place, unit(place)), value: (place) => table.low[place] },
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

  // A table of `items` in these columns; each writes a cell, and sorts by a value or else by what it writes.
  function fill(box, columns, items) {
    const body = element("tbody");
    const more = element("button", { type: "button", class: "more" }, `Show all ${items.length} rows`);
    const show = (count) => {
      body.replaceChildren(...items.slice(0, count).map((item) => {
        const row = element("tr");
        row.append(...columns.map(({ kind = "", write }) => element("td", { class: kind }, write(item))));
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
    more.addEventListener("click", () => show(items.length));
    show(FIRST_ROWS);
    box.replaceChildren(whole, more);
  }

  // Of points that are not in the table of summaries.
  function pointColumns({ x, unit }) {
    const at = ({ line, place }) => line.points[place][0], value = ({ line, place }) => line.points[place][1];
    return [
      { title: "Curve", write: ({ line }) => line.name },
      { title: (X_TITLE[x] || x).replace(/^./, (letter) => letter.toUpperCase()), kind: "n", write: (item) => (X_TICK[x] || String)(at(item)), value: at },
      { title: "Value", kind: "n", write: (item) => quantity(value(item), unit), value },
      { title: "Bounds", kind: "n", write: ({ line, place }) => (line.band[place] || []).map((bound) => quantity(bound, unit)).join(" – ") || "–", value: ({ line, place }) => (line.band[place] || [null])[0] },
      { title: "", write: ({ line, place }) => (line.band[place] ? line.meaning : "") },
    ];
  }
  function fillValues(details) {
    const node = document.getElementById(details.dataset.values);
    const { traces: curves, lines } = panelOf(node);
    const box = details.lastElementChild;
    if (curves.length) fill(box, COLUMNS, curves.flatMap((trace) => trace.at));
    else fill(box, pointColumns(figureOf(node)), lines.filter((line) => !line.smooth).flatMap((line) => line.points.map((_, place) => ({ line, place }))));
  }
  function fillCases(details) {
    const { from, to } = details.dataset;
    fill(details.lastElementChild, COLUMNS, Array.from({ length: to - from + 1 }, (_, step) => Number(from) + step));
  }
  const whenOpened = (selector, build) => all(selector).forEach((details) => {
    details.addEventListener("toggle", () => details.open && build(details));
  });
  whenOpened("details[data-values]", fillValues);
  whenOpened("details[data-from]", fillCases);

  // ---- Theme and paper

  function setTheme(theme) {
    root.dataset.theme = theme;
    all("[data-figure]").forEach(legend);
    drawn().forEach((node) => draw(node));
  }
  document.getElementById("theme").addEventListener("click", () => {
    setTheme(root.dataset.theme === "dark" ? "light" : "dark");
    try { localStorage.setItem("kiviat-theme", root.dataset.theme); } catch { /* as in theme.js */ }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ({ matches }) => {
    let chosen = null;
    try { chosen = localStorage.getItem("kiviat-theme"); } catch { /* as in theme.js */ }
    if (!chosen) setTheme(matches ? "dark" : "light");
  });
  const PAPER_WIDTH = 640; // pixels within the margins of A4 and Letter
  let before = null;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    all("[data-figure]").forEach((node) => {
      legend(node);
      draw(node, PAPER_WIDTH);
    });
  });
  addEventListener("afterprint", () => setTheme(before));
})();
