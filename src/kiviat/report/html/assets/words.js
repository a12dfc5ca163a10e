// The data of the page, and values in words.
const kiviat = (() => {
  "use strict";
  const page = JSON.parse(document.getElementById("kiviat-data").textContent);
  const table = page.table;
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  function element(name, attributes = {}, text = "") {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.textContent = text;
    return node;
  }

  // What kiviat.record.units says in Python; a test compares the two.

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
    if (unit.endsWith("/J")) return `${quantity(value, unit.replace("/J", "/s"), write)} per W`;
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
  function binary(count) {
    let power = 0;
    for (; count >= 1024 && power < BINARY.length - 1; power += 1) count /= 1024;
    return [count, BINARY[power]];
  }
  function bytes(count) {
    const [value, unit] = binary(count);
    return `${Number.isInteger(value) ? value : threeDigits(value)} ${unit}`;
  }
  function size(count) {
    const [value, unit] = binary(count);
    const short = Number.isInteger(value) || Number(value.toPrecision(3)) === value;
    return short ? `${value} ${unit}` : `${count.toLocaleString("en")} B`;
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
  const plain = (number) => (Number.isInteger(number) ? number : Number(number.toPrecision(3))).toLocaleString("en", { maximumFractionDigits: 12 });

  // Values of a horizontal axis with their noun, as in axis.py.
  function where({ kind, noun, title }, value) {
    if (kind === "bytes") return size(Math.round(value));
    if (kind === "counted") return Number.isInteger(value) ? counted(value, noun) : `${plain(value)} ${noun}s`;
    if (kind === "numbered") return `${noun} ${value}`;
    if (kind !== "quantity") return `${title} ${plain(value)}`;
    if (noun === "flop/B") return `${threeDigits(value)} flop/B`;
    return title === noun ? quantity(value, noun) : `${title} of ${quantity(value, noun)}`;
  }
  const lines = new WeakMap(); // what some tables have beyond their cells, for CSV
  return { page, table, all, lines, element, quantity, counted, plain, simulated, interval, remarks, where };
})();
