// -- the data, as columns

const data = JSON.parse(document.getElementById("data").textContent);
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const N = data.ids.length;
const RUNS = data.pipelines;
const SHORT = data.short;
const IS_COMPARISON = RUNS.length > 1;
const NO_FAILURE = new Set(["fine", "unknown"]);
const MOST_PRINTED = 500;
const NOISE = 1e-12; // differences below it are ties, as everywhere in the library

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

function metricOf(column) {
  const runs = column.runs.map((run) => {
    if (!run) return null;
    const states = new Map();
    for (const [state, rows] of Object.entries(run.states || {})) for (const row of rows) states.set(row, state);
    return { scores: scoresOf(run), states, reasons: run.reasons || null };
  });
  return { name: column.name, title: column.title, up: column.up, width: column.width, runs };
}

const metrics = data.metrics.map(metricOf);
const slices = data.slices.map((column) => ({ name: column.name, levels: column.v, codes: codesOf(column) }));
const answered = data.answers.map((column) => column && { levels: column.v, codes: codesOf(column) });
const causes = data.causes.map((column) => column && { levels: column.v, codes: codesOf(column) });
const order = new Map(data.ids.map((id, row) => [id, row]));

// -- what became of each answer, for any two pipelines

const OUTCOMES = ["both right", "became right", "became wrong", "both wrong", "unknown", "only in the baseline", "only in the candidate", "in neither run"];
// The codes of an answer are right, wrong, unknown and absent; a row per answer of the baseline.
const OUTCOME_OF = [[0, 2, 4, 5], [1, 3, 4, 5], [4, 4, 4, 5], [6, 6, 6, 7]];
const outcomeCache = new Map();

function outcomesOf(base, other) {
  const [before, after] = [answered[base], answered[other]];
  if (!before || !after) return null;
  const key = base * RUNS.length + other;
  if (!outcomeCache.has(key)) outcomeCache.set(key, { levels: OUTCOMES, codes: before.codes.map((code, row) => OUTCOME_OF[code][after.codes[row]]) });
  return outcomeCache.get(key);
}

function fieldOf(role) {
  return data.fields.find((field) => field.role === role);
}

function cellOf(field, run, row) {
  if (!field) return -1;
  const column = field.shared || field.runs[run];
  return column ? column[row] : -1;
}

function textsOf(cell) {
  if (Array.isArray(cell)) return cell.map((place) => data.texts[place]);
  return cell < 0 ? [] : [data.texts[cell]];
}

