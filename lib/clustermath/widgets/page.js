// Building blocks of a widget's document.
const CONTROLS = ["input", "select", "button", "textarea", "summary"];

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) node.setAttribute(name, value === true ? "" : value);
  }
  // JupyterLab would take Enter, Space and the arrow keys for shortcuts of its own.
  if (CONTROLS.includes(tag)) node.dataset.lmSuppressShortcuts = "true";
  node.append(...children.filter((child) => child != null));
  return node;
}

function shape(tag, attributes = {}, text = "") {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text) node.textContent = text;
  return node;
}

// A text field for a quantity: phones show letters, and change nothing that is typed.
function quantityField(label, placeholder) {
  const field = element("input", {
    type: "text", inputmode: "text", enterkeyhint: "go", class: "cm-field", autocapitalize: "off",
    autocorrect: "off", autocomplete: "off", spellcheck: "false", "aria-label": label, placeholder,
  });
  // JupyterLab keeps a field from submitting its form by itself.
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    field.form.requestSubmit();
  });
  return field;
}

function button(text, kind, onclick, attributes = {}) {
  return element("button", { type: "button", class: kind, onclick, ...attributes }, text);
}

const SHORT_COUNTS = [["T", 1e12], ["B", 1e9], ["M", 1e6]];

// A number as sliders, outputs and axes show it: as show() does, but 70.6B for a bare count and
// 6.354 × 10²⁴ for 6.354e24.
function readout(x, unit, digits = 4) {
  if (!Number.isFinite(x)) return "–";
  const size = Math.abs(x);
  const bare = unit === "" && size < 1e15;
  const short = bare && SHORT_COUNTS.find(([, scale]) => size >= scale * (1 - 1e-12));
  if (short) return figures(x / short[1], digits) + short[0];
  const text = show(x, unit, digits);
  return text.replace(/e(-?\d+)/, (_, power) => ` × 10${superscript(power)}`);
}

const superscript = (digits) =>
  [...digits].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("");
