// -- the view: everything that the address of the page keeps

const OPERATORS = ["<", "≤", "≥", ">", "unscored", "failed"];

function fresh() {
  return {
    q: "", base: 0, with: 1, metric: -1, outcomes: new Set(), causes: RUNS.map(() => ""), slices: slices.map(() => ""),
    where: [], sort: "", down: false, page: 1, size: 50, open: new Set(),
  };
}

let state = fresh();
let rows = [];

function sidesOf(metric) {
  const known = SHORT.map((name, run) => ({ name, run })).filter(({ run }) => metric.runs[run]);
  return IS_COMPARISON ? [...known, { name: "change", run: -1 }] : known;
}

function conditionText({ metric, run, operator, value }) {
  const of = IS_COMPARISON ? ` of ${run < 0 ? "change" : SHORT[run]}` : "";
  return `${metrics[metric].name}${of} ${operator}${isWord(operator) ? "" : ` ${value}`}`;
}

function isWord(operator) {
  return operator === "unscored" || operator === "failed";
}

// A condition is parsed by comparing it with all possible ones, because names may contain anything.
function conditionOf(text) {
  for (let metric = 0; metric < metrics.length; metric += 1) {
    for (const { name, run } of sidesOf(metrics[metric])) {
      const start = `${metrics[metric].name}${IS_COMPARISON ? ` of ${name}` : ""} `;
      if (!text.startsWith(start)) continue;
      const [operator, value = ""] = text.slice(start.length).split(" ");
      if (OPERATORS.includes(operator)) return { metric, run, operator, value };
    }
  }
  return null;
}

function toAddress() {
  const parameters = new URLSearchParams();
  const empty = fresh();
  if (state.q) parameters.set("q", state.q);
  if (state.base !== empty.base) parameters.set("base", RUNS[state.base]);
  if (state.with !== empty.with) parameters.set("with", RUNS[state.with]);
  if (state.metric !== empty.metric) parameters.set("metric", metrics[state.metric].name);
  for (const name of state.outcomes) parameters.append("outcome", name);
  state.causes.forEach((name, run) => name && parameters.set(`cause.${RUNS[run]}`, name));
  state.slices.forEach((label, place) => label && parameters.set(`slice.${slices[place].name}`, label));
  for (const condition of state.where) if (isComplete(condition)) parameters.append("where", conditionText(condition));
  if (state.sort) parameters.set("sort", (state.down ? "-" : "") + state.sort);
  if (state.size !== empty.size) parameters.set("size", state.size);
  if (state.page !== empty.page) parameters.set("page", state.page);
  for (const row of state.open) parameters.append("open", data.ids[row]);
  return parameters.toString();
}

function fromAddress(address) {
  const parameters = new URLSearchParams(address);
  state = fresh();
  state.q = parameters.get("q") || "";
  state.base = Math.max(RUNS.indexOf(parameters.get("base")), 0);
  const other = RUNS.indexOf(parameters.get("with"));
  state.with = other >= 0 && other !== state.base ? other : state.base === 0 ? 1 : 0;
  state.metric = metrics.findIndex((metric) => metric.name === parameters.get("metric"));
  state.outcomes = new Set(parameters.getAll("outcome"));
  state.causes = RUNS.map((name) => parameters.get(`cause.${name}`) || "");
  state.slices = slices.map((slice) => parameters.get(`slice.${slice.name}`) || "");
  state.where = parameters.getAll("where").map(conditionOf).filter(Boolean);
  const sort = parameters.get("sort") || "";
  state.down = sort.startsWith("-");
  state.sort = sort.replace(/^-/, "");
  state.size = [25, 50, 100, 500].includes(Number(parameters.get("size"))) ? Number(parameters.get("size")) : 50;
  state.page = Math.max(Math.floor(Number(parameters.get("page"))) || 1, 1);
  state.open = new Set(parameters.getAll("open").map((id) => order.get(id)).filter((row) => row !== undefined));
}

// An address with "=" is a view; any other is the name of a section.
function isView(hash) {
  return hash.includes("=");
}

function keepAddress() {
  const address = toAddress();
  if (!address && !isView(location.hash)) return;
  try {
    history.replaceState(null, "", `#${address}`);
  } catch {
    // A page inside another one may not change its address; then the view is not kept.
  }
}

// -- filters

let lowered = null;

function hitsOf(word) {
  lowered = lowered || data.texts.map((text) => text.toLowerCase());
  return lowered.map((text) => text.includes(word));
}

function searchColumns() {
  const columns = data.fields.flatMap((field) => (field.shared ? [field.shared] : field.runs.filter(Boolean)));
  for (const metric of metrics) for (const run of metric.runs) if (run && run.reasons) columns.push(run.reasons);
  return columns;
}

function isHit(cell, hits) {
  return Array.isArray(cell) ? cell.some((place) => hits[place]) : cell >= 0 && hits[cell];
}

function searchTest() {
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  const columns = searchColumns();
  const wordTests = words.map((word) => {
    const hits = hitsOf(word);
    return (row) => data.ids[row].toLowerCase().includes(word) || columns.some((column) => isHit(column[row], hits));
  });
  return (row) => wordTests.every((test) => test(row));
}

function change(metric, row) {
  const [before, after] = [metric.runs[state.base], metric.runs[state.with]];
  const difference = before && after ? after.scores[row] - before.scores[row] : NaN;
  return Math.abs(difference) < NOISE ? 0 : difference;
}

function isComplete({ operator, value }) {
  return isWord(operator) || (value !== "" && Number.isFinite(Number(value)));
}

function conditionTest({ metric: place, run, operator, value }) {
  const metric = metrics[place];
  const score = run < 0 ? (row) => change(metric, row) : (row) => metric.runs[run].scores[row];
  const limit = Number(value);
  if (operator === "unscored") return (row) => Number.isNaN(score(row));
  if (operator === "failed") {
    const sides = run < 0 ? [state.base, state.with] : [run];
    return (row) => sides.some((side) => metric.runs[side] && metric.runs[side].states.get(row) === "failed");
  }
  return {
    "<": (row) => score(row) < limit,
    "≤": (row) => score(row) <= limit,
    "≥": (row) => score(row) >= limit,
    ">": (row) => score(row) > limit,
  }[operator];
}

function labelTest(column, label) {
  const code = column.levels.indexOf(label);
  return (row) => column.codes[row] === code;
}

function outcome() {
  return IS_COMPARISON ? outcomesOf(state.base, state.with) : answered[0];
}

// The mean improvement over all metrics, as shares of their ranges; metrics without a range count
// only if none has one. It is the order of `overall_changes`, on the page and in the library.
const overallCache = new Map();

function overallChanges() {
  const key = state.base * RUNS.length + state.with;
  if (!overallCache.has(key)) overallCache.set(key, computeOverall());
  return overallCache.get(key);
}

function computeOverall() {
  const both = metrics.filter((metric) => metric.runs[state.base] && metric.runs[state.with]);
  const ranged = both.filter((metric) => metric.width);
  const total = new Float64Array(N);
  const counts = new Int32Array(N);
  for (const metric of ranged.length ? ranged : both) {
    const [before, after] = [metric.runs[state.base].scores, metric.runs[state.with].scores];
    let width = metric.width;
    if (!width) for (let row = 0; row < N; row += 1) width = Math.max(width || 0, Math.abs(after[row] - before[row]) || 0);
    for (let row = 0; row < N; row += 1) {
      const share = (metric.up ? after[row] - before[row] : before[row] - after[row]) / (width || 1);
      if (Number.isNaN(share)) continue;
      total[row] += share;
      counts[row] += 1;
    }
  }
  return total.map((sum, row) => (counts[row] ? sum / counts[row] : NaN));
}

function tests() {
  const conditions = [];
  if (state.q.trim()) conditions.push(searchTest());
  if (state.outcomes.size && outcome()) {
    const isSelected = outcome().levels.map((name) => state.outcomes.has(name));
    conditions.push((row) => isSelected[outcome().codes[row]]);
  }
  state.causes.forEach((name, run) => name && causes[run] && conditions.push(labelTest(causes[run], name)));
  state.slices.forEach((label, place) => label && conditions.push(labelTest(slices[place], label)));
  for (const condition of state.where) if (isComplete(condition)) conditions.push(conditionTest(condition));
  return conditions;
}

function matchingRows() {
  const conditions = tests();
  const matches = [];
  for (let row = 0; row < N; row += 1) if (conditions.every((test) => test(row))) matches.push(row);
  const column = columns().find(({ key }) => key === state.sort) || HIDDEN_ORDERS.find(({ key }) => key === state.sort);
  if (column) return sortRows(matches, column);
  if (!IS_COMPARISON) return matches;
  const changes = overallChanges();
  return sortRows(matches, { value: (row) => changes[row] });
}

// Orders that no column shows.
const HIDDEN_ORDERS = [{ key: "query", value: (row) => data.ids[row] }];
const collator = new Intl.Collator("en", { numeric: true });

// Missing values come last in both directions; equal ones keep their order.
function sortRows(matches, column) {
  const values = matches.map((row) => column.value(row));
  const isMissing = values.map((value) => value === "" || Number.isNaN(value));
  const sign = state.down ? -1 : 1;
  const compareValues = (a, b) => (typeof values[a] === "number" ? values[a] - values[b] : collator.compare(values[a], values[b]));
  const places = matches.map((_, place) => place);
  places.sort((a, b) => isMissing[a] - isMissing[b] || (isMissing[a] ? 0 : sign * compareValues(a, b)) || a - b);
  return places.map((place) => matches[place]);
}

