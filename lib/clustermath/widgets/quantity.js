// Twin of clustermath/quantity.py: the same text for the same number.
const SI_PREFIXES = [["E", 1e18], ["P", 1e15], ["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]];
const COUNT_WORDS = [["trillion", 1e12], ["billion", 1e9], ["million", 1e6]];
const SCALED_UNITS = ["B", "B/s", "FLOP/s"];
// A time is said in the largest unit of which it holds at least two, seconds excepted.
const TIME_UNITS = [
  ["days", 86400, 2], ["h", 3600, 2], ["min", 60, 2], ["s", 1, 1], ["ms", 1e-3, 1],
  ["µs", 1e-6, 1], ["ns", 1e-9, 0],
];

// Python rounds an exact tie to the even digit, JavaScript away from zero: step back where they
// differ.
function evenOnTie(rounded, exact) {
  const end = rounded.search(/e|$/);
  const kept = rounded.slice(0, end).replace(/\D/g, "").length;
  const rest = exact.replace(/e.*$/, "").replace(/\D/g, "").slice(kept);
  const last = Number(rounded[end - 1]);
  if (last % 2 === 0 || !/^50*$/.test(rest)) return rounded;
  return rounded.slice(0, end - 1) + (last - 1) + rounded.slice(end);
}

const toExponent = (x, decimals) => evenOnTie(x.toExponential(decimals), x.toExponential(60));
const toDecimals = (x, decimals) => evenOnTie(x.toFixed(decimals), x.toFixed(60));
const trimZeros = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
const groupDigits = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ",");
const group = (text) => text.replace(/\d+/, groupDigits);

function figures(x, digits = 4) {
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x > 0 ? "inf" : "-inf";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size < 1e7 && Number.isInteger(x)) return group(String(x));
  const [mantissa, exponent] = toExponent(x, digits - 1).split("e");
  if (size >= 1e7 || size < 1e-3) return `${trimZeros(mantissa)}e${Number(exponent)}`;
  const rounded = Number(`${mantissa}e${exponent}`);
  return trimZeros(group(rounded.toFixed(Math.max(0, digits - 1 - Number(exponent)))));
}

function money(x, digits) {
  const size = Math.abs(x);
  const cents = size >= 0.1 && size < 100 && digits >= 4 && !Number.isInteger(x);
  return cents ? toDecimals(x, 2) : figures(x, digits);
}

// [prefix, figures, unit] of the readable form.
function split(x, unit = "", digits = 4) {
  if (unit === "%") return ["", figures(100 * x, digits), "%"];
  if (unit === "$") {
    const large = Math.abs(x) >= 1e7;
    return ["$", money(large ? x / 1e6 : x, digits), large ? "million" : ""];
  }
  if (unit === "$/s") return ["$", money(3600 * x, digits), "per hour"];
  if (unit === "chip-s") return split(x / 3600, "chip-hours", digits);
  if (unit === "1/s") return ["", figures(x, digits), "per second"];
  if (unit === "s" && x === 0) return ["", "0", "s"];
  const [name, scale] = readableUnit(x, unit);
  return ["", figures(x / scale, digits), name];
}

// The unit in which x is printed, and its size in base units.
function readableUnit(x, unit) {
  const size = Math.abs(x);
  const least = (scale) => scale * (1 - 1e-12);
  if (unit === "s") return TIME_UNITS.find((t) => size >= least(t[1] * t[2])) || TIME_UNITS[3];
  if (SCALED_UNITS.includes(unit)) {
    const si = SI_PREFIXES.find(([, scale]) => size >= least(scale));
    if (si) return [si[0] + unit, si[1]];
  } else if (unit && unit !== "FLOP") {  // a counted noun: tokens, parameters, requests
    const word = COUNT_WORDS.find(([, scale]) => size >= least(scale));
    if (word) return [`${word[0]} ${unit}`, word[1]];
  }
  return [unit, 1];
}

function show(x, unit = "", digits = 4) {
  const [prefix, number, name] = split(x, unit, digits);
  const gap = name === "" || name === "%" ? "" : " ";
  const negative = prefix && number.startsWith("-");
  return `${negative ? "-" : ""}${prefix}${negative ? number.slice(1) : number}${gap}${name}`;
}
