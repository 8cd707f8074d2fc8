// Sliders over a chain of formulas. The formulas come as JavaScript made from their Python source.
const SAMPLES = 96;

// The outputs as functions of a case {argument: value}.
function compile(spec) {
  const names = spec.outputs.filter((o) => o.call).map((o) => o.call);
  const formulas = new Function(`${spec.script}\nreturn {${names.join(", ")}};`)();
  const inputs = Object.fromEntries(spec.inputs.map((i) => [i.name, i]));
  const callOf = (o) => (at) => formulas[o.call](...o.arguments.map((name) => at[name]));
  return spec.outputs.map((o) => (o.call ? callOf(o) : (at) => lookUp(o, inputs, at)));
}

// The nearest position of every axis; the last axis runs fastest in the table.
function lookUp(output, inputs, at) {
  let index = 0;
  for (const name of output.axes) {
    index = index * inputs[name].positions.length + nearest(inputs[name], at[name]);
  }
  return output.table[index] ?? NaN;
}

function nearest(input, value) {
  const distance = (v) => Math.abs(input.log ? Math.log(v / value) : v - value);
  const closer = (best, v, k) => (distance(v) < distance(input.positions[best]) ? k : best);
  return input.positions.reduce(closer, 0);
}

// Where a curve is computed: at slider positions for a grid, and between them for a formula.
function samples(input, output) {
  if (!output.call) return input.positions;
  const low = input.positions[0], high = input.positions.at(-1);
  const points = Array.from({ length: SAMPLES + 1 }, (_, k) => (input.log
    ? low * (high / low) ** (k / SAMPLES) : low + ((high - low) * k) / SAMPLES));
  return [...new Set(input.whole ? points.map(Math.round) : points)];
}

const startCase = (spec) =>
  ({ ...spec.fixed, ...Object.fromEntries(spec.inputs.map((i) => [i.name, i.start])) });

// A slider or a list, with its label and read-out.
function control(input, onchange) {
  const label = { "aria-label": input.label };
  const options = input.options?.map((name, k) => element("option", { value: k }, name));
  const last = input.positions.length - 1;
  const field = options ? element("select", label, ...options)
    : element("input", { type: "range", min: 0, max: last, step: 1, ...label });
  const out = options ? null : element("output", { class: "cm-read" });
  field.addEventListener("input", () => onchange(input.positions[Number(field.value)]));
  const name = element("span", { class: "cm-label" }, input.label);
  const set = (value) => {
    const position = String(nearest(input, value));
    if (field.value !== position) field.value = position;
    if (!out) return;
    out.textContent = readout(value, input.unit);
    field.setAttribute("aria-valuetext", out.textContent);
  };
  return { row: element("label", { class: "cm-row" }, name, field, out), set };
}

// The outputs, each with its ratio to the chapter's number.
function outputList(spec, functions) {
  const base = functions.map((f) => f(startCase(spec)));
  const cells = spec.outputs.map(() => element("dd"));
  const rows = spec.outputs.map((o, k) => element("div", {}, element("dt", {}, o.label), cells[k]));
  const set = (at) => spec.outputs.forEach((output, k) => {
    const value = functions[k](at), ratio = value / base[k];
    const moved = Number.isFinite(ratio) && Math.abs(ratio - 1) >= 5e-4;
    cells[k].replaceChildren(readout(value, output.unit));
    if (moved) cells[k].append(element("small", {}, ` ×${figures(ratio, 3)}`));
  });
  const spoken = () => spec.outputs.map((o, k) => `${o.label} ${cells[k].textContent}`).join(", ");
  return { node: element("dl", { class: "cm-out" }, ...rows), set, spoken };
}

const memberName = (family, v) =>
  (family.unit ? readout(v, family.unit) : `${family.name} ${readout(v, "")}`);

// The curves of one output: the chapter's case dashed, and the present case or a family of cases.
function curvesOf(spec, f, x, xs) {
  const family = spec.chart.family, start = startCase(spec);
  const curve = (at) => xs.map((v) => [v, f({ ...at, [x.name]: v })]);
  const baseline = { points: curve(start), kind: "cm-ghost" };
  const member = (at, v, k) => ({
    points: curve({ ...at, [family.name]: v }), name: memberName(family, v),
    kind: `cm-f${k % 4} ${v === at[family.name] ? "cm-now" : "cm-other"}`,
  });
  return (at) => [baseline, ...(family ? family.values.map((v, k) => member(at, v, k))
    : [{ points: curve(at), kind: "cm-now" }])];
}

// A logarithmic value axis where x is logarithmic and the curves span more than a factor of ten.
function isLog(x, curves) {
  const values = curves.flatMap((c) => c.points.map(([, v]) => v)).filter(Number.isFinite);
  const low = Math.min(...values);
  return Boolean(x.log) && low > 0 && Math.max(...values) / low > 10;
}

// One chart, redrawn for a case and a marked guess.
function chart(spec, functions, position, place) {
  const output = spec.outputs[position], x = spec.inputs.find((i) => i.name === spec.chart.x);
  const xs = samples(x, output), start = startCase(spec);
  const curves = curvesOf(spec, functions[position], x, xs);
  const words = `${output.label} against ${x.label}; the dashed curve is the chapter's case`;
  const svg = shape("svg", { class: "cm-chart", role: "img", "aria-label": words });
  const fixed = {
    x: { low: xs[0], high: xs.at(-1), log: x.log, unit: x.unit, base: x.base },
    y: { log: isLog(x, curves(start)), unit: output.unit },
    titles: { x: titleOf(x.label, x.unit), y: titleOf(output.label, output.unit) },
  };
  const marked = (guess) => guess && guess.output === position
    && [guess.at[x.name] ?? start[x.name], guess.value];
  const draw = (at, guess) => drawChart(svg, {
    ...fixed, curves: curves(at), line: place === 0 ? lineOf(spec, at, output) : null,
    dot: [at[x.name], functions[position](at)], mark: marked(guess),
  });
  return { svg, draw };
}

function lineOf(spec, at, output) {
  if (spec.line == null) return null;
  const value = typeof spec.line === "string" ? at[spec.line] : spec.line;
  return { value, name: readout(value, output.unit) };
}

// Asks for a guess; `open` is called with it, or with null when the reader skips.
function guessForm(asked, output, truth, open) {
  const field = quantityField(asked.question, `e.g. ${exampleOf(truth, output.unit)}`);
  const say = element("p", { class: "cm-say", role: "status" });
  const row = element("div", { class: "cm-entry" }, field,
    element("button", { type: "submit", class: "cm-button cm-main" }, "Guess"),
    button("Skip", "cm-link", () => open(null)));
  const form = element("form", { class: "cm-ask" },
    element("p", { class: "cm-question" }, asked.question), row, say);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { value, error } = guessed(field.value, output.unit, truth);
    if (error) say.textContent = error;
    else open(value);
  });
  return form;
}

// The form of an answer, giving nothing away.
function exampleOf(truth, unit) {
  if (unit === "$") return "$100";
  return unit === "%" ? "50%" : `100 ${readableUnit(truth, unit)[0]}`.trim();
}

// A guess without unit is in the unit that the result is shown in.
function guessed(text, unit, truth) {
  try {
    const reading = read(text);
    if (reading.value === 0) return { error: "A guess is a number other than zero." };
    if (reading.kind !== "") return { value: reading.value };
    return { value: reading.value * (unit === "%" ? 0.01 : readableUnit(truth, unit)[1]) };
  } catch (error) {
    return { error: `I cannot read that: ${error.message}.` };
  }
}

function comparison(guess, truth, unit) {
  const heard = `You guessed ${readout(guess, unit)}; the formulas give ${readout(truth, unit)}.`;
  const ratio = guess / truth;
  if (!(ratio > 0)) return heard;
  if (Math.abs(Math.log(ratio)) < Math.log(1.05)) return `${heard} Within 5%.`;
  return ratio > 1 ? `${heard} Your guess is ${figures(ratio, 2)} times that.`
    : `${heard} That is ${figures(1 / ratio, 2)} times your guess.`;
}

// Does `f` once, when `wait` milliseconds have passed without another call.
function later(f, wait) {
  let timer = null;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(f, wait);
  };
}

// Controls, outputs and charts; `update` shows a case.
function panel(spec, functions, moved, restore) {
  const controls = spec.inputs.map((i) => [i, control(i, (v) => moved(i.name, v))]);
  const outputs = outputList(spec, functions);
  const charts = spec.chart.curves.map((k, place) => chart(spec, functions, k, place));
  const reset = button("Back to the chapter's numbers", "cm-button cm-reset", restore);
  const spoken = element("p", { class: "cm-spoken", "aria-live": "polite" });
  const verdict = element("p", { class: "cm-verdict", role: "status" });
  const node = element("div", {}, verdict,
    element("div", { class: "cm-controls" }, ...controls.map(([, c]) => c.row)),
    outputs.node, ...charts.map((c) => c.svg), reset, spoken);
  const speak = later(() => { spoken.textContent = outputs.spoken(); }, 700);
  const update = (at, guess) => {
    outputs.set(at);
    for (const [input, c] of controls) c.set(at[input.name]);
    for (const c of charts) c.draw(at, guess);
    reset.disabled = !guess && spec.inputs.every((i) => at[i.name] === i.start);
    verdict.textContent = guess ? guess.words : "";
  };
  return { node, update, speak };
}

function render({ model, el }) {
  const spec = model.get("spec"), functions = compile(spec);
  const values = { ...model.get("values") };
  let guess = null;
  const send = later(() => {
    model.set("values", { ...values });
    model.save_changes();
  }, 80);
  const update = () => view.update({ ...spec.fixed, ...values }, guess);
  const move = (change) => {
    Object.assign(values, change);
    update();
    view.speak();
    send();
  };
  const view = panel(spec, functions, (name, v) => move({ [name]: v }), () => {
    guess = null;
    move(Object.fromEntries(spec.inputs.map((i) => [i.name, i.start])));
  });
  el.classList.add("cm", "cm-explorer");
  el.append(view.node);
  if (spec.guess) {
    const { at, output } = spec.guess, { unit } = spec.outputs[output];
    const truth = functions[output]({ ...startCase(spec), ...at });
    const ring = spec.chart.curves.includes(output) ? " It is the ring in the chart." : "";
    const form = guessForm(spec.guess, spec.outputs[output], truth, (value) => {
      form.remove();
      view.node.hidden = false;
      if (value === null) return update();
      guess = { output, at, value, words: comparison(value, truth, unit) + ring };
      return move(at);
    });
    view.node.hidden = true;
    el.append(form);
  }
  const follow = () => {
    if (JSON.stringify(model.get("values")) === JSON.stringify(values)) return;
    Object.assign(values, model.get("values"));
    update();
  };
  model.on("change:values", follow);
  const observer = new ResizeObserver(update);
  observer.observe(el);
  update();
  return () => {
    observer.disconnect();
    model.off("change:values", follow);
  };
}
