// One chart: curves over a shared x axis, in SVG, drawn to the width at hand.
const CHART = { height: 250, left: 66, right: 16, top: 32, bottom: 42 };

const exact = (x) => Number(x.toPrecision(12));

function linearTicks(low, high, most) {
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= rough * (1 - 1e-9));
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) {
    ticks.push(exact(k * step));
  }
  return ticks;
}

function logTicks(low, high, most, base) {
  const powerOf = (v) => Math.log(v) / Math.log(base);
  const first = Math.ceil(powerOf(low) - 1e-9), last = Math.floor(powerOf(high) + 1e-9);
  if (base === 10 && last - first < 2) return fineLogTicks(low, high, most);
  const every = Math.ceil((last - first + 1) / most);
  const ticks = [];
  for (let k = first; k <= last; k += every) ticks.push(exact(base ** k));
  return ticks;
}

// Within two factors of ten: 1, 2 and 5 of each, or 1 and 3.
function fineLogTicks(low, high, most) {
  for (const steps of [[1, 2, 5], [1, 3]]) {
    const ticks = [];
    for (let k = Math.floor(Math.log10(low)); 10 ** k <= high; k++) {
      ticks.push(...steps.map((m) => exact(m * 10 ** k)));
    }
    const inside = ticks.filter((t) => t >= low * (1 - 1e-9) && t <= high * (1 + 1e-9));
    if (inside.length > 1 && inside.length <= most) return inside;
  }
  return linearTicks(low, high, most);
}

const WRITTEN_UNITS = ["B", "B/s", "FLOP", "FLOP/s", "s", "$", "$/s", "%"];
const isNoun = (unit) => unit !== "" && !WRITTEN_UNITS.includes(unit);

// A counted noun stands in the title, other units at the ticks.
function titleOf(label, unit) {
  return isNoun(unit) ? `${label} (${unit === "1/s" ? "per second" : unit})` : label;
}

// On a linear axis all ticks share the unit of the largest.
function tickLabel(v, unit, reference) {
  if (unit !== "s" && !SCALED_UNITS.includes(unit)) return readout(v, isNoun(unit) ? "" : unit, 3);
  const [name, scale] = readableUnit(reference, unit);
  return `${figures(v / scale, 3)} ${name}`;
}

function tickScale(high, unit) {
  if (unit === "%") return 0.01;
  return isNoun(unit) ? 1 : readableUnit(high, unit)[1];
}

// Maps values to pixels; `label` gives the text of a tick.
function axis({ low, high, log, unit, base = 10 }, from, to, most) {
  const at = (v) => (log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low));
  const scale = tickScale(high, unit);
  const ticks = log ? logTicks(low, high, most, base)
    : linearTicks(low / scale, high / scale, most).map((t) => exact(t * scale));
  return {
    place: (v) => from + (to - from) * at(v),
    ticks,
    label: (v) => tickLabel(v, unit, log ? v : high),
    shows: (v) => Number.isFinite(v) && (!log || v > 0),
  };
}

// The range that holds all values, with a little air; a linear axis includes zero.
function valueRange(values, log) {
  const shown = values.filter((v) => Number.isFinite(v) && (!log || v > 0));
  if (!shown.length) return log ? { low: 1, high: 10 } : { low: 0, high: 1 };
  const low = Math.min(...shown), high = Math.max(...shown);
  if (log) {
    const air = low === high ? 3 : (high / low) ** 0.04;
    return { low: low / air, high: high * air };
  }
  const bottom = Math.min(0, low), top = Math.max(0, high);
  const air = (top - bottom) * 0.05 || 1;
  return { low: bottom < 0 ? bottom - air : 0, high: top + air };
}

function pathOf(points, x, y) {
  let pen = "M", path = "";
  for (const [px, py] of points) {
    if (!y.shows(py)) {
      pen = "M";
      continue;
    }
    path += `${pen}${x.place(px).toFixed(1)},${y.place(py).toFixed(1)}`;
    pen = "L";
  }
  return path;
}

function drawAxes(svg, width, x, y, titles) {
  const right = width - CHART.right, bottom = CHART.height - CHART.bottom;
  const line = (kind, x1, x2, y1, y2) => svg.append(shape("line", { class: kind, x1, x2, y1, y2 }));
  const text = (px, py, anchor, words, kind = "") =>
    svg.append(shape("text", { class: kind, x: px, y: py, "text-anchor": anchor }, words));
  for (const t of y.ticks) {
    line("cm-grid", CHART.left, right, y.place(t), y.place(t));
    text(CHART.left - 7, y.place(t) + 4, "end", y.label(t));
  }
  line("cm-base", CHART.left, right, bottom, bottom);
  for (const t of x.ticks) {
    line("cm-base", x.place(t), x.place(t), bottom, bottom + 4);
    text(x.place(t), bottom + 17, "middle", x.label(t));
  }
  text(2, 12, "start", titles.y, "cm-title");
  text(right, 12, "end", "dashed: the chapter's case");
  text(right, CHART.height - 6, "end", titles.x, "cm-title");
}

// Names at the right ends of the curves, moved apart where they would touch.
function drawNames(svg, curves, x, y) {
  const ends = [];
  for (const { points, kind, name } of curves) {
    const end = name && [...points].reverse().find(([, v]) => y.shows(v));
    if (end) ends.push({ kind, name, x: x.place(end[0]) - 2, y: y.place(end[1]) - 6 });
  }
  ends.sort((a, b) => b.y - a.y);
  ends.forEach((end, k) => {
    if (k) end.y = Math.min(end.y, ends[k - 1].y - 13);
    const at = { x: end.x, y: end.y, "text-anchor": "end", class: `cm-name ${end.kind}` };
    svg.append(shape("text", at, end.name));
  });
}

function drawLine(svg, width, line, y) {
  const at = y.place(line.value);
  const ends = { x1: CHART.left, x2: width - CHART.right, y1: at, y2: at };
  svg.append(shape("line", { class: "cm-line", ...ends }));
  svg.append(shape("text", { class: "cm-name cm-limit", x: CHART.left + 6, y: at - 5 }, line.name));
}

// spec: {x: {low, high, log, unit, base}, y: {log, unit}, titles, curves: [{points, kind, name}],
// line: {value, name}, dot: [x, y], mark: [x, y]}
function drawChart(svg, spec) {
  const width = Math.max(280, svg.clientWidth || 560);
  const values = spec.curves.flatMap((curve) => curve.points.map(([, v]) => v));
  if (spec.line) values.push(spec.line.value);
  if (spec.mark) values.push(spec.mark[1]);
  const x = axis(spec.x, CHART.left, width - CHART.right, width < 420 ? 4 : 7);
  const range = valueRange(values, spec.y.log);
  const y = axis({ ...range, ...spec.y }, CHART.height - CHART.bottom, CHART.top, 5);
  svg.setAttribute("viewBox", `0 0 ${width} ${CHART.height}`);
  svg.replaceChildren();
  drawAxes(svg, width, x, y, spec.titles);
  if (spec.line && y.shows(spec.line.value)) drawLine(svg, width, spec.line, y);
  for (const { kind, points } of spec.curves) {
    svg.append(shape("path", { class: `cm-curve ${kind}`, d: pathOf(points, x, y) }));
  }
  drawNames(svg, spec.curves, x, y);
  for (const [kind, point] of [["cm-mark", spec.mark], ["cm-dot", spec.dot]]) {
    if (!point || !y.shows(point[1])) continue;
    const centre = { cx: x.place(point[0]), cy: y.place(point[1]) };
    svg.append(shape("circle", { class: kind, r: 5, ...centre }));
  }
}
