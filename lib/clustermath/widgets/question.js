// One question: a form that marks, folded hints and solution. Nothing of them is in the document
// before it is opened.
function unseal(sealed) {
  const bytes = Uint8Array.from(atob(sealed), (c) => c.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
}

// Text with `code` spans.
function prose(text) {
  const parts = text.split(/(`[^`]+`)/).filter(Boolean);
  return parts.map((p) => (p.startsWith("`") ? element("code", {}, p.slice(1, -1)) : p));
}

const code = (text) => element("pre", { class: "cm-code" }, element("code", {}, text));

function block(part) {
  if (part.code) return code(part.code);
  if (part.latex) return mathematics(part);
  return element("p", {}, ...prose(part.text));
}

// Set by MathJax where the page has it; lines of text elsewhere.
function mathematics(part) {
  const lines = code(part.text), jax = globalThis.MathJax;
  if (!jax?.typesetPromise) return lines;
  const formula = element("div", { class: "cm-math" }, `\\[${part.latex}\\]`);
  const box = element("div", {}, formula);
  setTimeout(() => jax.typesetPromise([formula]).catch(() => box.replaceChildren(lines)));
  return box;
}

// A fold whose content comes into the document when it is opened.
function fold(title, parts) {
  const details = element("details", { class: "cm-fold" }, element("summary", {}, title));
  details.addEventListener("toggle", () => details.append(...parts().map(block)), { once: true });
  return details;
}

// Folded hints, each shown when the one before was opened, and the solution.
function folds({ hints, solution }) {
  const box = element("div", {}, fold("Worked solution", () => solution));
  const addHint = (k) => {
    if (k >= hints.length) return;
    const hint = fold(`Hint ${k + 1} of ${hints.length}`, () => [{ text: hints[k] }]);
    hint.addEventListener("toggle", () => addHint(k + 1), { once: true });
    box.insertBefore(hint, box.lastChild);
  };
  addHint(0);
  return box;
}

const verdictLine = () => element("p", { class: "cm-say", role: "status" });

function estimateForm(draw, spec, root) {
  const { key } = draw, say = verdictLine(), tries = element("span", { class: "cm-tries" });
  const unit = key.unit && `in ${key.unit}`;
  const field = quantityField(`Your answer ${unit}`.trim(), unit);
  const check = element("button", { type: "submit", class: "cm-button cm-main" }, "Check");
  const form = element("form", { class: "cm-entry", novalidate: true }, field, check, tries);
  let count = 0;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const mark = grade(field.value, key);
    if (mark.verdict !== "unread") count += 1;
    root.dataset.verdict = mark.verdict;
    say.textContent = mark.verdict === "right" ? `${mark.says} ${draw.next}` : mark.says;
    tries.textContent = count ? `${count} ${count === 1 ? "try" : "tries"}` : "";
  });
  return [form, say];
}

function functionForm(draw, spec) {
  const call = element("code", {}, `check("${spec.id}", your_function)`);
  return [code(spec.stub), element("p", { class: "cm-note" },
    "Open this sheet as a notebook to write it; then ", call, " tries it on hidden cases.")];
}

// Words first, then the points to mark oneself by.
function rubricForm(draw, spec) {
  const words = { class: "cm-field cm-words", rows: 5, "aria-label": "Your answer" };
  const area = element("textarea", words);
  const show = button("Show the points", "cm-button cm-main", () => {
    box.replaceChildren(pointList(draw.points));
  }, { disabled: true });
  const note = element("p", { class: "cm-note" },
    "Write a few sentences; then mark yourself against the points.");
  area.addEventListener("input", () => { show.disabled = area.value.trim().length < spec.least; });
  const box = element("div", {}, note, element("div", { class: "cm-entry" }, show));
  return [area, box];
}

function pointList(points) {
  const score = element("p", { class: "cm-note", role: "status" });
  const total = points.reduce((sum, [weight]) => sum + weight, 0);
  const boxes = points.map(() => element("input", { type: "checkbox", onchange: () => count() }));
  const count = () => {
    const sum = points.reduce((s, [weight], k) => s + (boxes[k].checked ? weight : 0), 0);
    score.textContent = `${sum} of ${total} points`;
  };
  const rows = points.map(([weight, says], k) => element("label", { class: "cm-point" }, boxes[k],
    element("span", {}, ...prose(says)), element("span", { class: "cm-weight" }, `${weight}`)));
  count();
  const legend = element("legend", {}, "Did your answer say this?");
  return element("fieldset", { class: "cm-points" }, legend, ...rows, score);
}

const FORMS = { estimate: estimateForm, implement: functionForm, rubric: rubricForm };

function render({ model, el }) {
  const spec = model.get("spec"), draws = unseal(spec.sealed);
  const root = element("section", { class: "cm cm-form", "aria-label": `Question ${spec.id}` });
  const more = button("New numbers", "cm-link", () => {
    current = (current + 1) % draws.length;
    showDraw();
    more.focus();
  });
  let current = 0;
  function showDraw() {
    const draw = draws[current], asked = element("p", { class: "cm-asked" }, ...prose(draw.ask));
    delete root.dataset.verdict;
    root.replaceChildren(asked, ...FORMS[spec.kind](draw, spec, root), folds(draw));
    if (draws.length > 1) root.querySelector(".cm-entry").append(more);
  }
  showDraw();
  el.append(root);
}
