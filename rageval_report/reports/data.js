// -- the data, as columns

const data = JSON.parse(document.getElementById("data").textContent);
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const N = data.ids.length;
const RUNS = data.pipelines;
const BASELINE = 0;
const IS_COMPARISON = RUNS.length > 1;
const UNTOLD = "cannot be told";
const NO_FAILURE = new Set(["fine", "unknown"]);
const MOST_PRINTED = 500;
const NOISE = 1e-12; // differences below it are ties, here as everywhere

function codesOf(column) {
  if (typeof column.c !== "string") return Int32Array.from(column.c);
  const place = new Int8Array(128);
  for (let i = 0; i < LETTERS.length; i += 1) place[LETTERS.charCodeAt(i)] = i;
  return Int32Array.from(column.c, (letter) => place[letter.charCodeAt(0)]);
}

function scoresOf(run) {
  if (run.n) return Float64Array.from(run.n, (value) => (value === null ? NaN : value));
  const levels = run.v.map((value) => (value === null ? NaN : value));
  return Float64Array.from(codesOf(run), (code) => levels[code]);
}

function metricOf(told) {
  const runs = told.runs.map((run) => {
    if (!run) return null;
    const states = new Map();
    for (const [state, rows] of Object.entries(run.states || {})) for (const row of rows) states.set(row, state);
    return { scores: scoresOf(run), states, reasons: run.reasons || null };
  });
  return { name: told.name, title: told.title, up: told.up, runs };
}

const metrics = data.metrics.map(metricOf);
const slices = data.slices.map((one) => ({ name: one.name, levels: one.v, codes: codesOf(one) }));
const outcomes = data.outcomes.map((one) => ({ levels: one.v, codes: codesOf(one) }));
const causes = data.causes.map((one) => one && { levels: one.v, codes: codesOf(one) });
const order = new Map(data.ids.map((id, row) => [id, row]));

function field(role) {
  return data.fields.find((one) => one.role === role);
}

function cellOf(one, run, row) {
  if (!one) return -1;
  const column = one.shared || one.runs[run];
  return column ? column[row] : -1;
}

function textsOf(cell) {
  if (Array.isArray(cell)) return cell.map((place) => data.texts[place]);
  return cell < 0 ? [] : [data.texts[cell]];
}

