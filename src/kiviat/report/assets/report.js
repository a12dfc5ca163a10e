// Draws figures and tables from the one table of summaries embedded in the page.
(() => {
  "use strict";
  const page = JSON.parse(document.getElementById("kiviat-data").textContent);
  const table = page.table;
  const root = document.documentElement;
  const $$ = (selector, node = document) => [...node.querySelectorAll(selector)];

  // ---- words; the same as kiviat.record.units, which the tests compare

  const PREFIX = { "-3": "n", "-2": "µ", "-1": "m", 0: "", 1: "k", 2: "M", 3: "G", 4: "T", 5: "P", 6: "E" };
  const SCALED = { s: [-3, 0], "B/s": [0, 6], "1/s": [0, 6], "flop/s": [0, 6], J: [-2, 6], W: [-2, 6] };
  const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

  function digits(value) {
    if (value === 0) return "0";
    const [, exponent] = value.toExponential(2).split("e");
    return Number(value.toExponential(2)).toFixed(Math.max(0, 2 - Number(exponent)));
  }
  function quantity(value, unit, write = digits) {
    if (value === null) return "unavailable";
    const [lowest, highest] = SCALED[unit] || [0, 0];
    let power = 0;
    if (value) {
      const rounded = Math.abs(Number(value.toExponential(2)));
      power = Math.min(Math.max(Math.floor(Math.log10(rounded) / 3 + 1e-9), lowest), highest);
    }
    const number = write(value / 1000 ** power);
    if (unit === "1") return number;
    const prefix = PREFIX[power];
    return unit === "1/s" && prefix ? `${number} ${prefix}/s` : `${number} ${prefix}${unit}`;
  }
  function size(count) {
    let power = 0;
    while (count >= 1024 && power < BINARY.length - 1) { count /= 1024; power += 1; }
    return `${Number.isInteger(count) ? count : digits(count)} ${BINARY[power]}`;
  }
  // Plotly reads some HTML in its texts.
  const inert = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  // ---- figures

  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "star", "triangle-down", "hexagon"];

  function colour([palette, place, count]) {
    const slot = palette === "ordinal" ? Math.round((place * 7) / (count - 1)) : place % (palette === "simulated" ? 3 : 8);
    return css(`--${palette}-${slot}`);
  }
  const faint = (hex) => `${hex}2e`;
  const abscissa = (figure, place) => {
    const x = table[figure.x][place];
    return figure.x === "bytes" && x === 0 ? 0.5 : x; // a logarithmic axis has no zero
  };

  function hover(figure, trace, place) {
    const unit = figure.unit;
    const at = figure.x === "bytes" ? size(table.bytes[place]) : `${table.ranks[place]} ranks`;
    const lines = [`${at}: <b>${quantity(table.median[place], unit)}</b>`];
    if (table.low[place] !== null) {
      lines.push(`95 %: ${quantity(table.low[place], unit)} – ${quantity(table.high[place], unit)}`);
    }
    lines.push(`${table.launches[place]} ${table.launches[place] === 1 ? "launch" : "launches"}, ${table.samples[place]} samples`);
    if (table.minimum[place] !== null) lines.push(`minimum ${quantity(table.minimum[place], unit)}`);
    if (table.p99[place] !== null) lines.push(`p99 ${quantity(table.p99[place], unit)}`);
    return `${inert(trace.name)}<br>${lines.join("<br>")}`;
  }

  function traces(figure, panel) {
    const bands = [], curves = [];
    for (const trace of panel.traces) {
      const stroke = colour(trace.colour);
      const at = trace.at;
      const sure = at.filter((place) => table.low[place] !== null);
      const x = at.map((place) => abscissa(figure, place));
      const y = at.map((place) => table.median[place]);
      if (sure.length > 1) {
        bands.push({
          x: [...sure, ...[...sure].reverse()].map((place) => abscissa(figure, place)),
          y: [...sure.map((place) => table.low[place]), ...sure.map((place) => table.high[place]).reverse()],
          fill: "toself", fillcolor: faint(stroke), line: { width: 0 }, mode: "lines",
          hoverinfo: "skip", showlegend: false, legendgroup: trace.name,
        });
      }
      curves.push({
        x, y, name: inert(trace.name), legendgroup: trace.name, mode: "lines+markers",
        line: { color: stroke, width: 1.75, dash: DASHES[trace.dash % DASHES.length] },
        marker: { color: stroke, size: 5, symbol: SYMBOLS[trace.symbol % SYMBOLS.length] },
        error_y: sure.length === 1 && at.length === 1 ? {
          type: "data", symmetric: false, thickness: 1.25, color: stroke,
          array: [table.high[at[0]] - y[0]], arrayminus: [y[0] - table.low[at[0]]],
        } : undefined,
        hovertext: at.map((place) => hover(figure, trace, place)), hoverinfo: "text",
      });
    }
    return [...bands, ...curves];
  }

  // Ticks at 1 (2, 5) times powers of ten, as many as fit.
  function decades([low, high], most, write) {
    const ticks = (factors) => {
      const found = [];
      for (let power = Math.floor(low); power <= Math.ceil(high); power += 1) {
        for (const factor of factors) {
          const at = power + Math.log10(factor);
          if (at >= low - 1e-9 && at <= high + 1e-9) found.push(factor * 10 ** power);
        }
      }
      return found;
    };
    let values = ticks([1, 2, 5]);
    if (values.length > most) values = ticks([1]);
    const step = Math.ceil(values.length / most);
    values = values.filter((_, place) => place % step === 0);
    return { tickmode: "array", tickvals: values, ticktext: values.map(write) };
  }
  function octaves([low, high], most, figure) {
    const first = Math.ceil(low / Math.log10(2) - 1e-9), last = Math.floor(high / Math.log10(2) + 1e-9);
    const zero = figure.x === "bytes" && low < Math.log10(0.5) + 1e-9;
    const step = Math.max(1, Math.ceil((last - first + 1) / most));
    const values = zero ? [0.5] : [];
    for (let power = zero ? Math.max(first, 0) : first; power <= last; power += 1) {
      if (power % step === 0 && !(zero && power < step && power > 0)) values.push(2 ** power);
    }
    const write = (value) => (figure.x === "bytes" ? (value < 1 ? "0" : size(value)) : String(value));
    return { tickmode: "array", tickvals: values.filter((value) => !zero || value !== 1 || step === 1), ticktext: values.filter((value) => !zero || value !== 1 || step === 1).map(write) };
  }

  function extent(values, pad) {
    const logs = values.filter((value) => value > 0).map(Math.log10);
    if (!logs.length) return [0, 1];
    const low = Math.min(...logs), high = Math.max(...logs);
    const margin = Math.max((high - low) * pad, 0.06);
    return [low - margin, high + margin];
  }

  function layout(figure, data, width) {
    const narrow = width < 460;
    const rangeX = extent(data.flatMap((trace) => trace.x), 0.03);
    const rangeY = extent(data.flatMap((trace) => trace.y), 0.05);
    const grid = { gridcolor: css("--grid"), linecolor: css("--rule"), zeroline: false, automargin: true, ticks: "outside", tickcolor: css("--rule"), ticklen: 4 };
    return {
      autosize: true, height: narrow ? 300 : 340, margin: { l: 8, r: 12, t: 8, b: 8 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: css("--sans"), size: narrow ? 11 : 12, color: css("--ink-2") },
      hoverlabel: { bgcolor: css("--paper"), bordercolor: css("--rule"), font: { family: css("--sans"), size: 12, color: css("--ink") }, align: "left" },
      hovermode: "closest", dragmode: narrow ? false : "zoom",
      showlegend: data.filter((trace) => trace.showlegend !== false).length > 1,
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: narrow ? 11 : 12 } },
      xaxis: { ...grid, type: "log", range: rangeX, ...octaves(rangeX, narrow ? 5 : 8, figure) },
      yaxis: figure.log
        ? { ...grid, type: "log", range: rangeY, ...decades(rangeY, narrow ? 6 : 8, (value) => quantity(value, figure.unit, String)) }
        : { ...grid, rangemode: "tozero", ticksuffix: figure.unit === "%" ? " %" : "", nticks: 6 },
    };
  }

  const CONFIG = {
    responsive: true, displaylogo: false, showLink: false, typesetMath: false,
    modeBarButtons: [["toImage", "resetScale2d"]], doubleClick: "reset",
  };

  function draw(node) {
    const figure = page.figures[node.dataset.figure];
    const data = traces(figure, figure.panels[Number(node.dataset.panel || 0)]);
    node.dataset.drawn = "yes";
    return Plotly.react(node, data, layout(figure, data, node.clientWidth), CONFIG);
  }
  const redraw = () => $$("[data-figure][data-drawn]").forEach(draw);

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) { seen.unobserve(entry.target); draw(entry.target); }
    }
  }, { rootMargin: "400px" });
  $$("[data-figure]").forEach((node) => seen.observe(node));
  $$("select[data-for]").forEach((select) => select.addEventListener("change", () => {
    const node = document.getElementById(select.dataset.for);
    node.dataset.panel = select.value;
    draw(node);
  }));

  // ---- theme

  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("kiviat-theme", root.dataset.theme); } catch { /* as in theme.js */ }
    redraw();
  });
})();
