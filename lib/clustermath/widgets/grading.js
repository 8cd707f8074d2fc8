// Twin of clustermath/practice/grading.py: same verdict, same words. MISTAKES is its table.
function near(value, target, within) {
  if (value === 0 || target === 0 || value > 0 !== target > 0) return value === target;
  return Math.abs(Math.log(value / target)) <= Math.log(1 + within) + 1e-9;
}

function fits(typed, target, within) {
  const half = (typed.step / 2) * (1 + 1e-9);
  const rounds = typed.digits >= 2 && Math.abs(typed.value - target) <= half;
  return rounds || near(typed.value, target, within);
}

function isRight(typed, key) {
  if (!key.whole) return fits(typed, key.answer, key.within);
  return Math.abs(typed.value - key.answer) <= key.slack + 1e-9 * Math.abs(key.answer);
}

// A sentence of the table, its {parts} filled in.
const say = (name, parts = {}) =>
  MISTAKES.says[name].replace(/\{(\w+)\}/g, (_, part) => parts[part]);

function grade(text, key) {
  if (!text.trim()) return { verdict: "unread", says: say("blank") };
  let reading;
  try {
    reading = read(text);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { verdict: "unread", says: say("unread", { why: error.message.replace(/\.+$/, "") }) };
  }
  const unfit = unfitting(reading, key);
  return unfit ? { verdict: "unread", says: unfit } : mark(candidatesOf(reading, key), key);
}

// The remark on an answer of another kind, or with a word that is no unit.
function unfitting(reading, key) {
  const plain = ["", "share"];
  if (reading.kind === key.kind) return null;
  if (plain.includes(reading.kind) && plain.includes(key.kind)) return null;
  if (reading.kind === "") {
    const said = reading.rest.replace(new RegExp(MISTAKES.filler, "gi"), "");
    const rest = said.replace(/^[ .,;=]+|[ .,;=]+$/g, "");
    return rest ? say("word", { rest, unit: key.unit }) : null;
  }
  const name = (kind) => (MISTAKES.kinds[kind] || [kind])[0];
  return say("kind", { asked: name(key.kind), typed: name(reading.kind) });
}

// A number without unit stands for the unit asked for, or for base units.
function candidatesOf(reading, key) {
  const { value, step, digits, kind } = reading;
  const typed = { value, step, digits };
  if (kind !== "" || key.size === 1) return [typed];
  return [{ value: value * key.size, step: step * key.size, digits }, typed];
}

function mark(candidates, key) {
  const place = candidates.findIndex((typed) => isRight(typed, key));
  if (place === 0) return { verdict: "right", says: say("right") };
  const base = MISTAKES.kinds[key.kind]?.[1];
  if (place > 0) return { verdict: "right", says: say("base", { base }) };
  return { verdict: "wrong", says: trapped(candidates, key) || diagnosis(candidates[0], key) };
}

function trapped(candidates, key) {
  const within = key.whole ? 0 : key.within;
  for (const typed of candidates) {
    const distance = ([value]) => Math.abs(typed.value - value);
    const hits = key.traps.filter(([value]) => fits(typed, value, within));
    hits.sort((a, b) => distance(a) - distance(b));
    if (hits.length) return hits[0][1];
  }
  return null;
}

function diagnosis(typed, key) {
  const { value } = typed, { answer } = key;
  if (value === 0) return say("zero");
  if (answer === 0 || value > 0 !== answer > 0) return say("sign");
  const ratio = value / answer;
  const size = Math.max(ratio, 1 / ratio), side = ratio > 1 ? "large" : "small";
  return binaryMistake(typed, ratio, side, key) || factorMistake(size, side, key)
    || distanceWords(size, side, key);
}

// The nearest power of 1,024 for 1,000 that an answer in bytes fits; few digits fit several.
function binaryMistake(typed, ratio, side, key) {
  if (!MISTAKES.binaryKinds.includes(key.kind)) return null;
  const by = (factor) => key.answer * (ratio > 1 ? factor : 1 / factor);
  const distance = ([factor]) => Math.abs(typed.value - by(factor));
  const hits = MISTAKES.binary.filter(([f]) => fits(typed, by(f), MISTAKES.binaryWithin));
  hits.sort((a, b) => distance(a) - distance(b));
  return hits.length ? `${say(side)}: ${hits[0][1]}` : null;
}

function factorMistake(size, side, key) {
  const hit = MISTAKES.factors.find(([factor]) => near(size, factor, key.within));
  if (!hit) return null;
  const power = `10^${Math.round(Math.log10(hit[0]))}`;
  const factor = hit[0] < 1e6 ? group(String(hit[0])) : power;
  return say("times", { factor, side, cause: hit[1] });
}

function distanceWords(size, side, key) {
  if (key.whole && size < 1.02) return say("count");
  const words = MISTAKES.distances.find(([limit]) => size < limit);
  return `${say(side)}, ${words ? words[1] : MISTAKES.farthest}.`;
}
