// Charts are pictures already (chart.py, heat_map.py). This adds what a picture cannot: readouts below the pointer and
// under the arrow keys, linked between charts; curves that hide; switches; copies and links.
(() => {
  "use strict";
  const { page, table, all, element, quantity, counted, simulated, interval, remarks, where } = kiviat;
  const SVG = "http://www.w3.org/2000/svg";
  const OTHERS = 8; // curves that a readout lists beside the nearest
  const NEAR = 60; // pixels of the picture within which a point is meant

  // ---- Points

  const positive = (value) => (value > 0 ? value : 0.5); // 0 B, as in scale.py: where other values are 0, the scale is linear
  const pixel = ([low, high, log, start, end], value) => start + ((end - start) * ((log ? Math.log10(positive(value)) : value) - low)) / (high - low);
  // As in chart.py: what the scale does not hold lies just outside of its ends.
  const height = (scale, value) => {
    const [, , log, start, end] = scale;
    return value === null || (log && value <= 0) ? start + 4 : Math.min(Math.max(pixel(scale, value), end - 4), start + 4);
  };
  const PREDICTED = "predicted by a model, not measured";

  function traceLines(data, unit, place) {
    const said = `${quantity(table.median[place], unit)} at ${where(data.x, abscissa(data, place))}`;
    if (simulated(place)) return [said, PREDICTED];
    return [
      said,
      table.low[place] === null ? "no interval" : `95 %: ${interval(place, unit)}`,
      `${counted(table.launches[place], "launch")}, ${counted(table.samples[place], "sample")}`,
      `minimum ${quantity(table.minimum[place], unit)}`,
      ...(table.p99[place] === null ? [] : [`p99 ${quantity(table.p99[place], unit)}`]),
      ...remarks(place),
    ];
  }
  const abscissa = (data, place) => (data.x.at ? data.x.at[place] : table[data.x.name][place]);

  // The curves of a panel: their points, intervals and readouts.
  function curvesOf(id, at = Number(document.getElementById(id).dataset.panel)) {
    const data = page.figures[id], panel = data.panels[at], { unit } = panel;
    const numbers = numbersOf(data);
    const traces = panel.traces.map(({ name, at: places }) => ({
      name, number: numbers.get(name), smooth: false, meaning: "95 %",
      x: places.map((place) => abscissa(data, place)), y: places.map((place) => table.median[place]),
      low: places.map((place) => table.low[place]), high: places.map((place) => table.high[place]),
      says: (place) => traceLines(data, unit, places[place]),
      counts: (place) => [table.launches[places[place]], table.samples[places[place]]],
    }));
    const lines = panel.lines.map(({ name, points, band = [], meaning = "", smooth = false, predicted = false }) => ({
      name, number: numbers.get(name), smooth, meaning,
      x: points.map(([x]) => x), y: points.map(([, y]) => y),
      low: points.map((_, place) => (band[place] ? band[place][0] : null)), high: points.map((_, place) => (band[place] ? band[place][1] : null)),
      says: (place) => [
        data.categories ? `${quantity(points[place][1], unit)}: ${data.categories[points[place][0]]}` : `${quantity(points[place][1], unit)} at ${where(data.x, points[place][0])}`,
        ...(band[place] ? [`${meaning}: ${band[place].map((bound) => quantity(bound, unit)).join(" – ")}`] : []),
        ...(predicted ? [PREDICTED] : []),
      ],
      counts: () => ["", ""],
    }));
    return [...traces, ...lines];
  }
  function numbersOf(data) {
    const names = new Map();
    for (const { traces, lines } of data.panels) for (const { name } of [...traces, ...lines]) if (!names.has(name)) names.set(name, names.size);
    return names;
  }
  kiviat.curvesOf = curvesOf;

  // Points with their pixels, but for curves that are hidden and lines that only guide the eye.
  function pointsOf(chart, at) {
    if (chart.points.has(at)) return chart.points.get(at);
    const { data } = chart, { x: sx, y: sy, shift = 0 } = data.panels[at];
    const curves = curvesOf(chart.figure.id, at).filter(({ smooth }) => !smooth);
    const points = curves.flatMap((curve, order) => curve.x.map((x, place) => ({
      curve, place, x, y: curve.y[place], order,
      px: pixel(sx, data.categories ? x + (order + 0.47) * (0.8 / curves.length) - 0.4 : x) + shift * (order - (curves.length - 1) / 2), py: height(sy, curve.y[place]),
    })));
    chart.points.set(at, points);
    return points;
  }
  const visible = (chart, points) => points.filter(({ curve }) => !chart.hidden.has(curve.number));

  // ---- Readouts

  // Screen readers announce changes of an element that stays where it is.
  const spoken = document.body.appendChild(element("div", { class: "spoken", role: "status" }));

  function shape(name, attributes, parent) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return parent.appendChild(node);
  }
  function pointer(panel) {
    panel.querySelector("svg.chart .pointer")?.remove();
    return shape("g", { class: "pointer" }, panel.querySelector("svg.chart"));
  }
  function rule(chart, panel, x) {
    const { y } = chart.data.panels[Number(panel.dataset.panel)];
    const group = pointer(panel);
    shape("path", { d: `M${x} ${y[4]}V${y[3]}` }, group);
    return group;
  }
  function clear(chart) {
    chart.chosen = null;
    chart.readout.hidden = true;
    charts.forEach((other) => all(".pointer", other.figure).forEach((node) => node.remove()));
  }
  function place(readout, svg, panel, px, py) {
    const box = svg.getBoundingClientRect(), frame = panel.getBoundingClientRect();
    const scale = box.width / svg.viewBox.baseVal.width;
    const x = box.left - frame.left + px * scale, y = box.top - frame.top + py * scale;
    const left = x + 14 + readout.offsetWidth > frame.width ? x - 14 - readout.offsetWidth : x + 14;
    readout.style.left = `${Math.max(0, Math.min(left, frame.width - readout.offsetWidth))}px`;
    readout.style.top = `${Math.max(0, y - readout.offsetHeight / 2)}px`;
  }
  function say(chart, panel, [head, first, ...rest], others, px, py) {
    const { readout } = chart;
    panel.append(readout);
    readout.replaceChildren(
      ...(head ? [element("span", { class: "who" }, head)] : []), element("b", {}, first), ...rest.map((line) => element("span", {}, line)),
      ...others.map(([name, value]) => {
        const line = element("span", { class: "other" }, name);
        line.append(element("i", {}, value));
        return line;
      }),
    );
    readout.hidden = false;
    spoken.textContent = [head, first, ...rest].filter(Boolean).join(", ");
    place(readout, panel.querySelector("svg.chart"), panel, px, py);
  }
  function choose(chart, panel, point) {
    const at = Number(panel.dataset.panel), { unit } = chart.data.panels[at];
    const shown = visible(chart, pointsOf(chart, at));
    const beside = shown.filter(({ x, curve }) => x === point.x && curve !== point.curve);
    all(".pointer", chart.figure).forEach((node) => node.remove());
    const group = rule(chart, panel, point.px);
    for (const { px, py, curve } of [...beside, point]) shape("circle", { cx: px, cy: py, r: curve === point.curve ? 6 : 4 }, group);
    const others = beside.slice(0, OTHERS).map(({ curve, y }) => [curve.name, quantity(y, unit)]);
    if (beside.length > OTHERS) others.push([`and ${beside.length - OTHERS} more`, ""]);
    say(chart, panel, [shown.some(({ curve }) => curve !== point.curve) ? point.curve.name : "", ...point.curve.says(point.place)], others, point.px, point.py);
    chart.chosen = { panel, point };
    linked(chart, point.x);
  }
  // The same place in other charts on the screen whose axis is the same.
  function linked(chart, x) {
    for (const other of charts) {
      if (other === chart || other.data.map || other.data.x.name !== chart.data.x.name) continue;
      for (const panel of other.panels) {
        const box = panel.getBoundingClientRect();
        if (panel.hidden || box.bottom < 0 || box.top > innerHeight) continue;
        const there = visible(other, pointsOf(other, Number(panel.dataset.panel))).filter((point) => point.x === x);
        if (!there.length) { panel.querySelector(".pointer")?.remove(); continue; }
        const group = rule(other, panel, there[0].px);
        for (const { px, py } of there) shape("circle", { cx: px, cy: py, r: 4 }, group);
      }
    }
  }

  function cellLines(data, panel, row, column) {
    const count = panel.labels.length, at = row * count + column;
    const name = (place) => `rank ${panel.labels[place]}${panel.nodes ? ` (node ${panel.nodes[place]})` : ""}`;
    const value = panel.values[at];
    return [
      `${name(row)} and ${name(column)}`,
      value === null ? "no value" : quantity(value, data.unit),
      ...(panel.low && panel.low[at] !== null ? [`95 %: ${quantity(panel.low[at], data.unit)} – ${quantity(panel.high[at], data.unit)}`] : []),
    ];
  }
  kiviat.cellLines = (id, row, column) => cellLines(page.figures[id], page.figures[id].panels[Number(document.getElementById(id).dataset.panel)], row, column);
  function chooseCell(chart, panel, row, column) {
    const data = chart.data.panels[Number(panel.dataset.panel)], [left, top, side] = data.square, count = data.labels.length, size = side / count;
    all(".pointer", chart.figure).forEach((node) => node.remove());
    shape("rect", { x: left + column * size, y: top + row * size, width: size, height: size }, pointer(panel));
    say(chart, panel, cellLines(chart.data, data, row, column), [], left + (column + 0.5) * size, top + (row + 0.5) * size);
    chart.chosen = { panel, row, column };
  }

  function inside(svg, { clientX, clientY }) {
    const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
    return [x, y];
  }
  function pointed(chart, panel, svg, event) {
    const [x, y] = inside(svg, event);
    const at = Number(panel.dataset.panel), data = chart.data.panels[at];
    if (chart.data.map) {
      const [left, top, side] = data.square, count = data.labels.length;
      const column = Math.floor(((x - left) / side) * count), row = Math.floor(((y - top) / side) * count);
      if (Math.min(row, column) < 0 || Math.max(row, column) >= count) clear(chart);
      else chooseCell(chart, panel, row, column);
      return;
    }
    let nearest = null, least = NEAR;
    for (const point of visible(chart, pointsOf(chart, at))) {
      const distance = Math.hypot(point.px - x, point.py - y);
      if (distance < least) [nearest, least] = [point, distance];
    }
    if (nearest) choose(chart, panel, nearest);
    else clear(chart);
  }
  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  function stepped(chart, panel, event) {
    if (event.key === "Escape") { clear(chart); return; }
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    const at = Number(panel.dataset.panel), chosen = chart.chosen && chart.chosen.panel === panel ? chart.chosen : null;
    if (chart.data.map) {
      const last = chart.data.panels[at].labels.length - 1, bound = (value) => Math.min(last, Math.max(0, value));
      if (chosen) chooseCell(chart, panel, bound(chosen.row + step[1]), bound(chosen.column + step[0]));
      else chooseCell(chart, panel, 0, 0);
      return;
    }
    const points = visible(chart, pointsOf(chart, at));
    if (!points.length) return;
    if (!chosen) { choose(chart, panel, points[0]); return; }
    const { point } = chosen;
    if (step[0]) {
      const own = points.filter(({ curve }) => curve.number === point.curve.number).sort((a, b) => a.px - b.px);
      choose(chart, panel, own[Math.min(own.length - 1, Math.max(0, own.findIndex(({ place: p, curve }) => p === point.place && curve === point.curve) + step[0]))] || point);
      return;
    }
    const curves = [...new Set(points.map(({ curve }) => curve))];
    const next = curves[(curves.indexOf(point.curve) + step[1] + curves.length) % curves.length];
    const near = points.filter(({ curve }) => curve === next).sort((a, b) => Math.abs(a.px - point.px) - Math.abs(b.px - point.px));
    choose(chart, panel, near[0]);
  }

  // ---- Hiding, switching

  function hide(chart, number, hidden) {
    if (hidden) chart.hidden.add(number); else chart.hidden.delete(number);
    all(`[data-curve="${number}"]`, chart.figure).forEach((node) => {
      if (node.tagName === "BUTTON") node.setAttribute("aria-pressed", !hidden);
      else node.classList.toggle("off", hidden);
    });
    clear(chart);
  }
  function light(chart, number) {
    all("svg.chart", chart.figure).forEach((svg) => {
      svg.classList.toggle("lit", number !== null);
      all("[data-curve]", svg).forEach((node) => node.classList.toggle("chosen", Number(node.dataset.curve) === number));
    });
  }
  // Shows one panel, or all of a quantity side by side.
  function show(chart, at, every = false) {
    const { figure, data } = chart;
    figure.dataset.panel = at;
    figure.classList.toggle("side-by-side", every);
    chart.every = every;
    const { quantity: which = "" } = data.panels[at];
    chart.panels.forEach((panel, place) => { panel.hidden = every ? (data.panels[place].quantity || "") !== which : place !== at; });
    all("button[data-quantity]", figure).forEach((button) => button.setAttribute("aria-pressed", button.dataset.quantity === which));
    const named = figure.querySelector("select[data-quantities]");
    if (named) named.value = which;
    const select = figure.querySelector("select[data-panels]");
    if (select) select.value = every ? "all" : String(labelled(data, "", data.panels[at].label, true));
    clear(chart);
    figure.dispatchEvent(new CustomEvent("panel"));
  }
  function labelled(data, which, label, any = false) {
    return data.panels.findIndex((panel) => (any || (panel.quantity || "") === which) && panel.label === label);
  }

  // ---- Copies and links

  const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "vector-effect"];
  function inked(from, to) {
    const style = getComputedStyle(from);
    for (const name of STYLES) if (style.getPropertyValue(name)) to.setAttribute(name, style.getPropertyValue(name));
    to.removeAttribute("class");
    to.removeAttribute("style");
    [...from.children].forEach((child, place) => inked(child, to.children[place]));
  }
  const shownPanels = (chart) => chart.panels.filter(({ hidden }) => !hidden);
  const panelOf = ({ data }, panel) => data.panels[Number(panel.dataset.panel)];
  // The panels that are shown as a file of its own: titles, legends, colours.
  function asSvg(chart) {
    all(".pointer", chart.figure).forEach((node) => node.remove());
    const whole = document.createElementNS(SVG, "svg"), style = getComputedStyle(document.body);
    const ground = shape("rect", { fill: style.backgroundColor }, whole);
    let top = 0, widest = 0;
    for (const panel of shownPanels(chart)) {
      const svg = panel.querySelector("svg.chart"), { width, height } = svg.viewBox.baseVal, copy = svg.cloneNode(true);
      inked(svg, copy);
      all(".off", svg).forEach(({ dataset }) => all(`[data-curve="${dataset.curve}"]`, copy).forEach((node) => node.remove()));
      shape("text", { x: 8, y: top + 19, "font-size": 14, "font-weight": 600, fill: style.color }, whole).textContent = captionOf(chart, panel);
      for (const [key, value] of Object.entries({ x: 0, y: top + 28, width, height })) copy.setAttribute(key, value);
      whole.append(copy);
      top += 28 + height;
      widest = Math.max(widest, width);
      for (const entry of all(".legend button[aria-pressed=true]", panel)) {
        const key = entry.querySelector("svg"), its = key.cloneNode(true);
        inked(key, its);
        for (const [name, value] of Object.entries({ x: 12, y: top + 2, width: 30, height: 12 })) its.setAttribute(name, value);
        whole.append(its);
        shape("text", { x: 50, y: top + 12, "font-size": 12, fill: style.color }, whole).textContent = entry.textContent;
        top += 18;
      }
      top += 8;
    }
    for (const [key, value] of Object.entries({ viewBox: `0 0 ${widest} ${top}`, width: widest, height: top, "font-family": style.fontFamily })) whole.setAttribute(key, value);
    for (const [key, value] of Object.entries({ width: widest, height: top })) ground.setAttribute(key, value);
    return new XMLSerializer().serializeToString(whole);
  }
  function captionOf(chart, panel) {
    const { figure } = chart, { label, quantity: which } = panelOf(chart, panel);
    return [figure.querySelector("figcaption span").textContent, which, label].filter(Boolean).join(", ");
  }
  const field = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    const inert = typeof value === "string" && /^[=+\-@\t\r]/.test(text) && !/^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) ? `'${text}` : text; // no formula for spreadsheets
    return /[",\n\r]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
  };
  // Values of all panels that are shown; several panels have a column of their own.
  function asCsv(chart) {
    const shown = shownPanels(chart), several = shown.length > 1;
    const [head] = valuesOf(chart, shown[0]);
    const lines = shown.flatMap((panel) => valuesOf(chart, panel).slice(1).map((line) => (several ? [panelOf(chart, panel).label, ...line] : line)));
    return kiviat.csv([several ? ["panel", ...head] : head, ...lines]);
  }
  function valuesOf(chart, panel) {
    const { data, figure } = chart, { labels, unit, values } = panelOf(chart, panel);
    if (data.map) return [["row", "column", `value in ${data.unit}`], ...values.map((value, at) => [labels[Math.floor(at / labels.length)], labels[at % labels.length], value])];
    return [["curve", data.x.name, `value in ${unit}`, "low", "high", "launches", "samples"],
      ...curvesOf(figure.id, Number(panel.dataset.panel)).flatMap((curve) => curve.x.map((x, at) => [curve.name, data.categories ? data.categories[x] : x, curve.y[at], curve.low[at], curve.high[at], ...curve.counts(at)]))];
  }
  kiviat.csv = (lines) => `${lines.map((line) => line.map(field).join(",")).join("\n")}\n`;
  function asLink(chart) {
    const hidden = [...chart.hidden].sort((a, b) => a - b).join(".");
    const fragment = `#${chart.figure.id}:panel=${chart.figure.dataset.panel}${chart.every ? ":all" : ""}${hidden ? `:hide=${hidden}` : ""}`;
    history.replaceState(null, "", fragment);
    return location.href;
  }
  async function copied(button, text, type, name) {
    button.dataset.label ??= button.textContent; // at a second click it says "copied"
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "copied";
    } catch { // no clipboard: a file
      const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
      link.click();
      button.textContent = "saved";
    }
    setTimeout(() => { button.textContent = button.dataset.label; }, 1500);
  }
  kiviat.copied = copied;
  const COPIES = {
    svg: (chart) => [asSvg(chart), "image/svg+xml", `${chart.figure.id}.svg`],
    csv: (chart) => [asCsv(chart), "text/csv", `${chart.figure.id}.csv`],
    link: (chart) => [asLink(chart), "text/plain", `${chart.figure.id}.txt`],
  };
  kiviat.copyOf = (id, kind) => COPIES[kind](charts.find(({ figure }) => figure.id === id))[0];

  // ---- Each chart

  function made(figure) {
    const chart = {
      figure, data: page.figures[figure.id], panels: all(".panel", figure), hidden: new Set(), points: new Map(),
      chosen: null, every: false, readout: element("div", { class: "readout", "aria-hidden": true }),
    };
    chart.readout.hidden = true;
    for (const panel of chart.panels) {
      const svg = panel.querySelector("svg.chart");
      svg.setAttribute("tabindex", 0);
      svg.setAttribute("role", "application"); // screen readers pass no arrow keys to images
      svg.addEventListener("pointermove", (event) => pointed(chart, panel, svg, event));
      svg.addEventListener("pointerdown", (event) => pointed(chart, panel, svg, event));
      svg.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && clear(chart));
      svg.addEventListener("keydown", (event) => stepped(chart, panel, event));
      svg.addEventListener("blur", () => clear(chart));
    }
    all(".legend button", figure).forEach((button) => {
      const number = Number(button.dataset.curve);
      button.addEventListener("click", () => hide(chart, number, button.getAttribute("aria-pressed") === "true"));
      for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => light(chart, number));
      for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => light(chart, null));
    });
    const turn = (which) => {
      const same = labelled(chart.data, which, chart.data.panels[Number(figure.dataset.panel)].label);
      show(chart, same < 0 ? chart.data.panels.findIndex((panel) => panel.quantity === which) : same, chart.every);
    };
    all("button[data-quantity]", figure).forEach((button) => button.addEventListener("click", () => turn(button.dataset.quantity)));
    figure.querySelector("select[data-quantities]")?.addEventListener("change", ({ target }) => turn(target.value));
    figure.querySelector("select[data-panels]")?.addEventListener("change", ({ target }) => {
      const { quantity: which = "" } = chart.data.panels[Number(figure.dataset.panel)];
      if (target.value === "all") { show(chart, Number(figure.dataset.panel), true); return; }
      const same = labelled(chart.data, which, chart.data.panels[Number(target.value)].label);
      show(chart, same < 0 ? Number(target.value) : same);
    });
    all("button[data-copy]", figure).forEach((button) => button.addEventListener("click", () => copied(button, ...COPIES[button.dataset.copy](chart))));
    return chart;
  }
  const charts = all("figure[data-panel]").map(made);

  function follow() {
    const [id, ...parts] = decodeURIComponent(location.hash.slice(1)).split(":");
    const chart = charts.find(({ figure }) => figure.id === id);
    if (!chart) return;
    if (parts.length) [...chart.hidden].forEach((number) => hide(chart, number, false));
    const wanted = Object.fromEntries(parts.map((part) => part.split("=")));
    const every = "all" in wanted || wanted.panel === "all"; // older links name no panel beside "all"
    const known = chart.data.panels[wanted.panel];
    if (known || every) show(chart, Number(known ? wanted.panel : chart.figure.dataset.panel), every);
    (wanted.hide || "").split(".").filter(Boolean).forEach((number) => hide(chart, Number(number), true));
    if (parts.length) chart.figure.scrollIntoView();
  }
  addEventListener("hashchange", follow);
  follow();
})();
