// Twin of clustermath/reading_units.py; its tables come from there as TABLES.
class Unreadable extends Error {}

function refuse(message) {
  throw new Unreadable(message);
}

// A text as a message repeats it.
const quoted = (text) => (text.length <= 60 ? `'${text}'` : `'${text.slice(0, 60)}...'`);

const BASE_UNITS = ["B", "s", "FLOP", "$"];
const KIND_OF = {
  B: "bytes", s: "time", FLOP: "work", $: "money", "B/s": "bandwidth", "FLOP/s": "flop rate",
  "$/s": "price", "1/s": "rate",
};
const NOTHING = [0, 0, 0, 0], BYTES = [1, 0, 0, 0], TIME = [0, 1, 0, 0], WORK = [0, 0, 1, 0];
const MONEY = [0, 0, 0, 1], BANDWIDTH = [1, -1, 0, 0], FLOP_RATE = [0, -1, 1, 0];

const longestFirst = (words) => [...words].sort((a, b) => b.length - a.length).join("|");

// Unit symbols, whose case matters.
function symbolTable() {
  const table = new Map([["$", [1, MONEY]], ["USD", [1, MONEY]], ["¢", [0.01, MONEY]]]);
  const add = (names, unit) => names.forEach((name) => table.set(name, unit));
  for (const name of ["s", "h", "d"]) add([name], [TABLES.times[name], TIME]);
  for (const [prefix, factor] of Object.entries(TABLES.small)) add([`${prefix}s`], [factor, TIME]);
  const prefixes = { "": 1, ...TABLES.decimal, ...TABLES.binary };
  for (const [prefix, factor] of Object.entries(prefixes)) {
    add([`${prefix}B`], [factor, BYTES]);
    add([`${prefix}b`, `${prefix}bit`, `${prefix}bits`], [factor / 8, BYTES]);
    add([`${prefix}Bps`], [factor, BANDWIDTH]);
    add([`${prefix}bps`, `${prefix.toLowerCase()}bps`], [factor / 8, BANDWIDTH]);
    add([`${prefix}FLOP`, `${prefix}FLOPs`], [factor, WORK]);
    add([`${prefix}FLOPS`], [factor, FLOP_RATE]);
  }
  return table;
}

// Unit names, whose case does not matter.
function wordTable() {
  const table = new Map();
  const add = (stem, unit) => table.set(stem, unit).set(`${stem}s`, unit);
  for (const [name, size] of Object.entries(TABLES.times)) {
    if (name.length > 1) table.set(name, [size, TIME]);
  }
  const stems = [["byte", 1, BYTES], ["bit", 1 / 8, BYTES], ["flop", 1, WORK],
    ["second", 1, TIME], ["dollar", 1, MONEY], ["cent", 0.01, MONEY]];
  for (const [prefix, factor] of Object.entries({ "": 1, ...TABLES.long })) {
    for (const [stem, base, dims] of stems) add(prefix + stem, [factor * base, dims]);
  }
  for (const [prefix, factor] of Object.entries(TABLES.decimal)) {
    add(`${prefix.toLowerCase()}flop`, [factor, WORK]);
  }
  return table;
}

const SYMBOLS = symbolTable(), UNIT_WORDS = wordTable();
const MISSPELT = /^[kmgtpe]i?b(?:its?|ytes?|ps)?$/i;
const GLUED = /^(?:[GTC]PU|chip|core|node|rank|token|tok|param|parameter|step|layer)s?$/i;
const UNIT_WORD = /^\s*-?\s*([A-Za-z$¢][A-Za-z0-9]*)/;
const JOINED = /^([A-Za-z][A-Za-z0-9]*)-([A-Za-z]+)/;
const MACHINES = "[GTC]PU|chip|core|node|device|machine|accelerator|[A-Z]\\d+";
const MACHINE_HOURS = new RegExp(`^((?:${MACHINES})s?)[\\s-]([A-Za-z]+)`);
const PERCENT = /^\s*(?:%|per\s?cent\b|percentage points?\b)/i;
const TIMES_SIGN = /^\s?[x×](?![A-Za-z0-9])/;
const PER = new RegExp([
  String.raw`^(?<between>(?:\s+[A-Za-z][\p{L}\p{N}_\-]*){0,3}?)(?:\s*\/\s*|\s+per\s+(?:an?\s+)?`,
  String.raw`|\s+an?\s+(?=(?:second|minute|hour|day|week|month|year)\b))`,
  String.raw`(?:(?<scale>thousand|million|billion|trillion)\s+)?(?<what>[A-Za-z$][A-Za-z0-9]*)`,
].join(""), "u");

function findUnit(word) {
  const unit = SYMBOLS.get(word) || UNIT_WORDS.get(word.toLowerCase());
  if (!unit && MISSPELT.test(word)) {
    const prefix = /[kK]/.test(word[0]) ? "k" : word[0].toUpperCase();
    refuse(`${quoted(word)} is no unit: write ${prefix}B for bytes, ${prefix}b for bits`);
  }
  return unit;
}

function takeUnit(units, [factor, dims], power) {
  units.scale *= power > 0 ? factor : 1 / factor;
  units.dims = units.dims.map((d, k) => d + power * dims[k]);
}

function baseOf(dims) {
  const above = BASE_UNITS.filter((_, k) => dims[k] > 0).join("·");
  const below = BASE_UNITS.filter((_, k) => dims[k] < 0).join("·");
  return below ? `${above || "1"}/${below}` : above;
}

function kindOf(units) {
  const base = baseOf(units.dims);
  return units.label === "%" ? "share" : KIND_OF[base] ?? base;
}

// The units at the start of `tail`, the text after a number and its scale word.
function parseUnits(tail, money) {
  const units = { scale: 1, dims: money ? MONEY : NOTHING, label: money ? "$" : "", rest: "" };
  tail = tail.replace(/^\+/, "");
  const percent = PERCENT.exec(tail), times = TIMES_SIGN.exec(tail);
  if (percent) return { ...units, scale: 0.01, label: "%", rest: tail.slice(percent[0].length) };
  if (times) return { ...units, label: "×", rest: tail.slice(times[0].length) };
  if (!money) tail = takeFactor(units, tail, 1);
  for (let per = PER.exec(tail); per; per = PER.exec(tail)) {
    const { between, scale, what } = per.groups;
    units.scale /= TABLES.scales[scale] ?? 1;
    units.label += "/";
    tail = between + takeFactor(units, tail.slice(per[0].length - what.length), -1);
  }
  units.label = (units.label.startsWith("/") ? "1" : "") + units.label.replace(/\/$/, "");
  units.rest = tail;
  return units;
}

// Takes a unit, or a product such as TB-month or GPU-hours, off the start of `text`.
function takeFactor(units, text, power) {
  const word = UNIT_WORD.exec(text);
  if (!word) return text;
  const start = word[0].length - word[1].length;
  const machine = MACHINE_HOURS.exec(text.slice(start));
  const joined = machine || JOINED.exec(text.slice(start));
  const first = findUnit(word[1]);
  let second = joined && findUnit(joined[2]);
  if (machine && second && second[1] !== TIME) second = null;
  if (!first && !second) return takeNoun(units, text, word, start, power);
  for (const unit of [first, second]) if (unit) takeUnit(units, unit, power);
  units.label += second ? `${joined[1]}-${joined[2]}` : word[1];
  return text.slice(second ? start + joined[0].length : word[0].length);
}

// A word that is no unit names what is counted; against a number it is a slip.
function takeNoun(units, text, word, start, power) {
  const noun = word[1];
  const hint = noun === "m" ? ": write min, ms or M" : "";
  if (noun.length === 1) refuse(`${quoted(noun)} is no unit${hint}`);
  if (power > 0 && start === 0 && !GLUED.test(noun)) {
    refuse(`${quoted(noun)} is no unit: put a space before the name of what is counted`);
  }
  if (power > 0) return text;
  units.label += noun;
  return text.slice(word[0].length);
}
