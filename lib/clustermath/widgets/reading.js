// Twin of clustermath/reading.py, reading_latex.py and reading_words.py: same value, same refusals.
const BEYOND = "is too large or too small to be a number";
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻";
const CHARACTERS = {
  "−": "-", "‐": "-", "‑": "-", "µ": "u", "μ": "u", "½": ".5", "¼": ".25", "¾": ".75",
  "⅛": ".125", "⅜": ".375", "⅝": ".625", "⅞": ".875",
};
const MATH = /(?<!\\)\$(?!\s)((?:[^$\\]|\\.)+?)(?<!\s)\$(?![0-9])/g;
const LATEX = [
  [/\\(?:text|mathrm|mathbf|mathit|operatorname)\s*\{([^{}]*)\}/g, "$1"],
  [/\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}/g, "$1/$2"],
  [/\\[dt]?frac\s*([0-9])\s*([0-9])/g, "$1/$2"],
  [/\{,\}/g, ","],
  [/\\!/g, ""],
  [/\\(?:[,;:> ]|quad\b)|~/g, " "],
  [/\\(?:times|cdot)(?![A-Za-z])/g, "×"],
  [/\\(?:approx|sim)(?![A-Za-z])/g, "≈"],
  [/\\([$%#&_])/g, "$1"],
  [/\\([A-Za-z]+)/g, "$1"],
  [/[{}]/g, ""],
];
const unmath = (latex) => LATEX.reduce((text, [pattern, to]) => text.replace(pattern, to), latex);

// The text without LaTeX, invisible characters, unusual spaces and signs.
function plainText(text) {
  text = text.replace(/[\u00ad\u200b-\u200f\u2060\ufeff]/g, "");
  const unset = text.replace(MATH, (_, inside) => unmath(inside));
  text = unset === text && text.includes("\\") ? unmath(text) : unset;
  text = text.replace(/[−‐‑µμ½¼¾⅛⅜⅝⅞]/g, (c) => CHARACTERS[c]);
  text = text.replace(/(?<![\p{L}\p{N}_)])–(?=[0-9.$])/gu, "-");
  return text.replace(/[\s\u00a0\u2000-\u200a\u202f\u205f\u3000]+/g, " ").trim();
}

const raw = String.raw;
const W = raw`\p{L}\p{N}_`;  // Python's \w
const END = `(?![${W}])`;
const POWER = raw`(?:\s?(?:\^|\*\*)\s?[(\{]?([+\-]?[0-9]+)[)\}]?|([⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+))`;
const NUMERAL = [
  raw`(?<sign>(?<![${W})])[+\-]\s?)?(?<money>(?:\bUS)?\$\s?)?(?<sign2>(?<![${W}])[+\-]\s?)?`,
  raw`(?<digits>\.?[0-9](?:[0-9.,_'’]*[0-9])?)`,
  raw`(?:\s?\/\s?(?<over>[0-9][0-9,_]*)|(?<power>${POWER})`,
  raw`|\s?[eE]\s?(?<exponent>[+\-]?\s?[0-9]+)(?![0-9.]|\s?\^)`,
  raw`|\s?[x×*·⋅]\s?(?<base>[0-9]+)(?<raised>${POWER}))?`,
].join("");
const CANDIDATE = new RegExp(raw`(?<name>[A-Za-z]+[\-.]?[0-9][${W}.\-]*)|${NUMERAL}`, "gu");
const PLAIN_DIGITS = new RegExp(raw`^(?:[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?`
  + raw`|[0-9]{1,3}(?:_[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)$`);
const NOT_A_NUMBER = new RegExp(raw`(?<![${W}.])(?:nan|[+\-]?inf(?:inity)?)${END}`, "iu");
const SCALE_WORD = new RegExp(raw`^\s*-?\s*(${Object.keys(TABLES.scales).join("|")})${END}`, "iu");
const LETTER = longestFirst(Object.keys(TABLES.letters));
const SCALE_LETTER = new RegExp(raw`^\s?(${LETTER})(?![A-Za-z0-9\/])`);
const BILLION = /^B(?![A-Za-z0-9/])/;
const BEFORE = new RegExp(raw`^[${W}\s.,:;'’"“”()=~≈≲≳≤≥<>\-]*$`, "u");
const AFTER = new RegExp(raw`^[${W}\s.,:;!?'’"“”()%\-]*$`, "u");

const scaleWords = Object.entries(TABLES.scales).filter(([word]) => word.length > 2);
const BIG_WORDS = Object.fromEntries(scaleWords);
const WORD = longestFirst([TABLES.ones, TABLES.parts, BIG_WORDS].flatMap(Object.keys));
const AND = raw`[\s\-]+(?:(?:and|of)[\s\-]+)?(?:an?[\s\-]+)?`;
const NUMBER_WORDS = new RegExp(
  raw`(?<![${W}\-])(?:an?\s+)?(?:${WORD})(?:${AND}(?:${WORD}))*${END}`, "giu");
const ARTICLE = new RegExp(raw`(?<![${W}\-])an?(?=\s+([A-Za-z]+))`, "giu");
const OF_A = /^(?:(?:\s+of)?\s+an?(?=\s)|\s+of(?=\s))/i;

// {value, step, digits, unit, kind, rest} of the one quantity in `text`; throws Unreadable.
function read(text) {
  const clean = plainText(text);
  const number = findNumber(clean, text);
  const before = clean.slice(0, number.start);
  const odd = `${quoted(text)} is not a quantity:`;
  if (!BEFORE.test(before)) refuse(`${odd} ${quoted(before.trim())} stands before the number`);
  const [scale, tail] = takeScale(clean.slice(number.stop), number.money);
  const units = parseUnits(tail, number.money);
  if (!AFTER.test(units.rest)) refuse(`${odd} ${quoted(units.rest.trim())} follows the number`);
  const factor = scale * units.scale, value = number.value * factor;
  if (!Number.isFinite(value)) refuse(`${quoted(text)} is too large to be a number`);
  const rest = `${before} ${units.rest}`.trim().replace(/ +/g, " ");
  const { step, digits } = number;
  return { value, step: step * factor, digits, unit: units.label, kind: kindOf(units), rest };
}

// Scale words and letters: million, k, M, and B where it cannot mean bytes.
function takeScale(tail, money) {
  const word = SCALE_WORD.exec(tail);
  if (word) return [TABLES.scales[word[1].toLowerCase()], tail.slice(word[0].length)];
  const letter = SCALE_LETTER.exec(tail);
  if (letter) return [TABLES.letters[letter[1]], tail.slice(letter[0].length)];
  const billion = BILLION.test(money ? tail.trimStart() : tail);
  return billion ? [1e9, tail.trimStart().slice(1)] : [1, tail];
}

// The only number of the text, in digits, in words, or an article before a unit.
function findNumber(clean, text) {
  if (!clean) refuse("there is no text to read");
  const wrong = NOT_A_NUMBER.exec(clean);
  if (wrong) refuse(`${quoted(wrong[0])} is not a number`);
  const digits = [...clean.matchAll(CANDIDATE)].filter((m) => m.groups.name === undefined);
  let words = [...clean.matchAll(NUMBER_WORDS)].filter((m) => !onlyScales(clean, m));
  if (digits.length) words = words.filter((m) => m[0].toLowerCase() !== "one");
  if (digits.length + words.length > 1) refuseTwo([...digits, ...words], clean, text);
  if (digits.length) return fromDigits(digits[0], text);
  if (words.length) return fromWords(clean, words[0]);
  for (const { 0: article, 1: word, index } of clean.matchAll(ARTICLE)) {
    const where = { money: false, start: index, stop: index + article.length };
    if (word.length > 1 && findUnit(word)) return rounded(1, 0, 1, where);
  }
  return refuse(`${quoted(text)} has no number`);
}

function refuseTwo(matches, clean, text) {
  const found = matches.slice(0, 2).map((m) => quoted(m[0].trim())).join(" and ");
  const hint = /[0-9] [0-9]{3}\b/.test(clean) ? "; only a comma groups digits" : "";
  refuse(`${quoted(text)} has more than one number: ${found}${hint}`);
}

// Whether a number word only scales what stands before it: 30.8 million, per million.
function onlyScales(clean, match) {
  const before = clean.slice(0, match.index);
  const scaled = /(?:[0-9⁰¹²³⁴⁵⁶⁷⁸⁹]\s*-?\s*|\bper\s+|\/\s*)$/.test(before);
  return scaled && match[0].toLowerCase() in TABLES.scales;
}

function fromDigits(match, text) {
  const at = match.groups;
  if (!PLAIN_DIGITS.test(at.digits)) {
    refuse(`${quoted(at.digits)} is malformed: write 1,000,000 or 0.25`);
  }
  const negative = `${at.sign ?? ""}${at.sign2 ?? ""}`.includes("-");
  const stop = match.index + match[0].length;
  const where = { money: Boolean(at.money), start: match.index, stop };
  const digits = at.digits.replace(/[,_]/g, "");
  if (at.over || at.power) return exactNumber(at, Number(digits), negative, where, text);
  const scale = toPower(Number(at.base ?? "10"), at.raised ?? at.exponent ?? "0", text);
  const mantissa = Number(digits), size = mantissa * scale;
  if (mantissa && !(size > 0 && size < Infinity)) refuse(`${quoted(text)} ${BEYOND}`);
  const number = rounded(mantissa, (digits.split(".")[1] ?? "").length, scale, where);
  return negative ? { ...number, value: -number.value } : number;
}

// 7/8 and 2^16 have no last place: they mean just that.
function exactNumber(at, first, negative, where, text) {
  const second = at.over && Number(at.over.replace(/[,_]/g, ""));
  if (second === 0) refuse(`${quoted(text)} divides by zero: not a number`);
  const value = at.over ? first / second : toPower(first, at.power, text);
  return { ...where, value: negative ? -value : value, step: 0, digits: 4 };
}

// base to the exponent of e24, ^24, **24 or a superscript.
function toPower(base, exponent, text) {
  const plain = [...exponent].map((c) => "0123456789+-"[SUPERSCRIPTS.indexOf(c)] ?? c).join("");
  const digits = plain.replace(/[^0-9+-]/g, "");
  const result = digits.length < 9 ? base ** Number(digits) : Infinity;
  if (!Number.isFinite(result) || (base && !result)) refuse(`${quoted(text)} ${BEYOND}`);
  return result;
}

// Trailing zeros of an integer are not significant.
function rounded(mantissa, places, scale, where) {
  const long = mantissa >= 1e21;  // where toFixed would change to an exponent
  const written = long ? BigInt(mantissa).toString() + "0".repeat(places) : mantissa.toFixed(places);
  const digits = written.replace(".", "").replace(/^0+/, "");
  const zeros = places === 0 ? digits.length - digits.replace(/0+$/, "").length : 0;
  const step = mantissa === 0 && places === 0 ? 0 : 10 ** (zeros - places);
  const figures = Math.max(digits.length - zeros, 1);
  return { ...where, value: mantissa * scale, step: step * scale, digits: figures };
}

function fromWords(clean, match) {
  const { mantissa, places, scale } = spell(match[0]);
  const after = match.index + match[0].length;
  const ofA = OF_A.exec(clean.slice(after));
  const sign = /\b(?:minus|negative)\s+$/i.exec(clean.slice(0, match.index));
  const start = sign ? sign.index : match.index, stop = after + (ofA ? ofA[0].length : 0);
  const number = rounded(mantissa, places, scale, { money: false, start, stop });
  return sign ? { ...number, value: -number.value } : number;
}

const ARTICLES = ["a", "an", "of"];
const splitWords = (text) => text.toLowerCase().split(/[\s-]+/).filter((w) => !ARTICLES.includes(w));

// "six and a half" is 6.5; "sixteen thousand" is 16 with the scale 1,000.
function spell(text) {
  const words = splitWords(text);
  let scale = 1;
  while (words.length > 1 && words.at(-1) in BIG_WORDS) scale *= BIG_WORDS[words.pop()];
  const part = TABLES.parts[words.at(-1)];
  if (part) {
    const [whole, count] = wholeAndPart(words, text);
    return { mantissa: whole + count / part[0], places: part[1], scale };
  }
  if (words.length === 1 && words[0] in BIG_WORDS) {
    return { mantissa: 1, places: 0, scale: scale * BIG_WORDS[words[0]] };
  }
  if (words.some((word) => word in BIG_WORDS)) {
    return { mantissa: wholeNumber(splitWords(text), text), places: 0, scale: 1 };
  }
  return { mantissa: wholeNumber(words, text), places: 0, scale };
}

function wholeAndPart(words, text) {
  const counted = (some) => wholeNumber(some.length ? some : ["one"], text);
  const cut = words.lastIndexOf("and");
  if (cut < 0) return [0, counted(words.slice(0, -1))];
  return [wholeNumber(words.slice(0, cut), text), counted(words.slice(cut + 1, -1))];
}

function wholeNumber(words, text) {
  let total = 0, run = 0, last = 1000;
  for (const word of words) {
    if (word === "and") continue;
    if (word in TABLES.ones) {
      const size = TABLES.ones[word];
      const second = last < 20 || (last < 100 && size >= 10);
      if (second) refuse(`${quoted(text)} is more than one number`);
      run += size;
      last = size < 20 ? Math.max(size, 1) : 20;
    } else if (word in BIG_WORDS) {
      run = Math.max(run, 1) * BIG_WORDS[word];
      last = 1000;
      if (BIG_WORDS[word] > 100) {
        total += run;
        run = 0;
      }
    } else refuse(`${quoted(text)} is no number`);
  }
  return total + run;
}
