// Heat maps: a square of values between pairs, with lines where another node begins. Colours are logarithmic, as far
// and near pairs differ by powers of ten; the first of the ordinal palette is the best value.
"use strict";
function heatMap({ figure, panel, width, style, quantity, inert }) {
  const count = panel.labels.length;
  const rows = (values) => values && Array.from({ length: count }, (_, row) => values.slice(row * count, (row + 1) * count));
  const values = rows(panel.values), low = rows(panel.low), high = rows(panel.high);
  const known = panel.values.filter((value) => value !== null && value > 0);
  const least = Math.log10(Math.min(...known)), most = Math.log10(Math.max(...known));

  const colours = Array.from({ length: 8 }, (_, slot) => style(`--ordinal-${slot}`));
  if (figure.better === "higher") colours.reverse();
  const name = (place) => `rank ${panel.labels[place]}${panel.nodes ? ` (node ${panel.nodes[place]})` : ""}`;
  const text = (row, column) => {
    const value = values[row][column];
    if (value === null) return "";
    const bounds = low && low[row][column] !== null
      ? `<br>95 %: ${quantity(low[row][column], figure.unit)} – ${quantity(high[row][column], figure.unit)}` : "";
    return `${inert(`${name(row)} and ${name(column)}`)}<br><b>${quantity(value, figure.unit)}</b>${bounds}`;
  };

  const narrow = width < 460;
  const bar = 3; // ticks of the colour bar
  const tickvals = most > least ? Array.from({ length: bar }, (_, step) => least + (step * (most - least)) / (bar - 1)) : [least];
  const stride = Math.ceil(count / (narrow ? 8 : 16));
  const places = panel.labels.map((_, place) => place).filter((place) => place % stride === 0);
  // Margins of our own: Plotly's automatic ones do not settle around a square.
  const left = 20 + 7 * Math.max(...panel.labels.map((label) => label.length)) + 14, right = narrow ? 74 : 90;
  const side = Math.min(width - left - right, 400);
  const square = { height: side + 56, margin: { l: left, r: width - left - side, t: 8, b: 48 } };
  const axis = {
    tickmode: "array", tickvals: places, ticktext: places.map((place) => panel.labels[place]), range: [-0.5, count - 0.5],
    showgrid: false, zeroline: false, ticks: "", linecolor: style("--rule"),
    title: { text: "rank", standoff: 8, font: { size: 12 } },
  };
  // Each boundary is a line on a wider one of the paper's colour: it is seen on light cells and on dark ones.
  const fine = count > 64;
  const line = (from, to, name, width) => ({
    type: "line", x0: from[0], y0: from[1], x1: to[0], y1: to[1], line: { color: style(name), width: fine ? width / 2 : width },
  });
  const across = [["--paper", 5], ["--ink", 1.5]].flatMap(([name, width]) => panel.boundaries.flatMap((place) => [
    line([place - 0.5, -0.5], [place - 0.5, count - 0.5], name, width), line([-0.5, place - 0.5], [count - 0.5, place - 0.5], name, width),
  ]));
  return {
    data: [{
      type: "heatmap", z: values.map((row) => row.map((value) => (value > 0 ? Math.log10(value) : null))),
      zmin: least, zmax: most > least ? most : least + 1, xgap: fine ? 0 : 1, ygap: fine ? 0 : 1,
      colorscale: colours.map((colour, slot) => [slot / 7, colour]),
      hovertext: values.map((row, y) => row.map((_, x) => text(y, x))), hoverinfo: "text", hoverongaps: false,
      colorbar: {
        x: 1, xpad: 10, thickness: narrow ? 10 : 14, len: 0.9, outlinewidth: 0, ticks: "", tickvals,
        ticktext: tickvals.map((power) => quantity(10 ** power, figure.unit)), tickfont: { size: narrow ? 10 : 11 },
      },
    }],
    layout: {
      ...square, shapes: across, xaxis: axis, yaxis: { ...axis, range: [count - 0.5, -0.5] },
    },
  };
}
