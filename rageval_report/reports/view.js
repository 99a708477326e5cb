// -- what is shown: everything that the address can hold

const OPERATORS = ["<", "≤", "≥", ">", "unscored", "failed"];

function fresh() {
  return {
    q: "", with: 1, metric: 0, outcomes: new Set(), causes: RUNS.map(() => ""), slices: slices.map(() => ""),
    where: [], sort: "", down: false, page: 1, size: 50, open: new Set(),
  };
}

let state = fresh();
let rows = [];

function sidesOf(metric) {
  const known = RUNS.map((name, run) => ({ name, run })).filter(({ run }) => metric.runs[run]);
  return IS_COMPARISON ? [...known, { name: "change", run: -1 }] : known;
}

function conditionText({ metric, run, operator, value }) {
  const of = IS_COMPARISON ? ` of ${run < 0 ? "change" : RUNS[run]}` : "";
  return `${metrics[metric].name}${of} ${operator}${isWord(operator) ? "" : ` ${value}`}`;
}

function isWord(operator) {
  return operator === "unscored" || operator === "failed";
}

// A condition is read back by trying what it could be: names may hold anything.
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
  const told = new URLSearchParams();
  const empty = fresh();
  if (state.q) told.set("q", state.q);
  if (state.with !== empty.with) told.set("with", RUNS[state.with]);
  if (state.metric !== empty.metric) told.set("metric", metrics[state.metric].name);
  for (const name of state.outcomes) told.append("outcome", name);
  state.causes.forEach((name, run) => name && told.set(`cause.${RUNS[run]}`, name));
  state.slices.forEach((label, place) => label && told.set(`slice.${slices[place].name}`, label));
  for (const one of state.where) if (isWhole(one)) told.append("where", conditionText(one));
  if (state.sort) told.set("sort", (state.down ? "-" : "") + state.sort);
  if (state.size !== empty.size) told.set("size", state.size);
  if (state.page !== empty.page) told.set("page", state.page);
  for (const row of state.open) told.append("open", data.ids[row]);
  return told.toString();
}

function fromAddress(address) {
  const told = new URLSearchParams(address);
  state = fresh();
  state.q = told.get("q") || "";
  state.with = Math.max(RUNS.indexOf(told.get("with")), 1);
  state.metric = Math.max(metrics.findIndex((one) => one.name === told.get("metric")), 0);
  state.outcomes = new Set(told.getAll("outcome"));
  state.causes = RUNS.map((name) => told.get(`cause.${name}`) || "");
  state.slices = slices.map((one) => told.get(`slice.${one.name}`) || "");
  state.where = told.getAll("where").map(conditionOf).filter(Boolean);
  const sort = told.get("sort") || "";
  state.down = sort.startsWith("-");
  state.sort = sort.replace(/^-/, "");
  state.size = [25, 50, 100, 500].includes(Number(told.get("size"))) ? Number(told.get("size")) : 50;
  state.page = Math.max(Math.floor(Number(told.get("page"))) || 1, 1);
  state.open = new Set(told.getAll("open").map((id) => order.get(id)).filter((row) => row !== undefined));
}

// An address with "=" holds a view; any other names a section.
function isView(hash) {
  return hash.includes("=");
}

function keepAddress() {
  const told = toAddress();
  if (!told && !isView(location.hash)) return;
  try {
    history.replaceState(null, "", `#${told}`);
  } catch {
    // A page inside another one may not touch its address; the view is then not kept.
  }
}

// -- filters

let lowered = null;

function hitsOf(word) {
  lowered = lowered || data.texts.map((text) => text.toLowerCase());
  return lowered.map((text) => text.includes(word));
}

function searchColumns() {
  const columns = data.fields.flatMap((one) => (one.shared ? [one.shared] : one.runs.filter(Boolean)));
  for (const metric of metrics) for (const run of metric.runs) if (run && run.reasons) columns.push(run.reasons);
  return columns;
}

function isHit(cell, hits) {
  return Array.isArray(cell) ? cell.some((place) => hits[place]) : cell >= 0 && hits[cell];
}

function searchTest() {
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  const columns = searchColumns();
  const found = words.map((word) => {
    const hits = hitsOf(word);
    return (row) => data.ids[row].toLowerCase().includes(word) || columns.some((column) => isHit(column[row], hits));
  });
  return (row) => found.every((test) => test(row));
}

function change(metric, row) {
  const [before, after] = [metric.runs[BASELINE], metric.runs[state.with]];
  const difference = before && after ? after.scores[row] - before.scores[row] : NaN;
  return Math.abs(difference) < NOISE ? 0 : difference;
}

function isWhole({ operator, value }) {
  return isWord(operator) || (value !== "" && Number.isFinite(Number(value)));
}

function conditionTest({ metric: place, run, operator, value }) {
  const metric = metrics[place];
  const score = run < 0 ? (row) => change(metric, row) : (row) => metric.runs[run].scores[row];
  const limit = Number(value);
  if (operator === "unscored") return (row) => Number.isNaN(score(row));
  if (operator === "failed") {
    const sides = run < 0 ? [BASELINE, state.with] : [run];
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
  return outcomes[IS_COMPARISON ? state.with - 1 : 0];
}

function tests() {
  const every = [];
  if (state.q.trim()) every.push(searchTest());
  if (state.outcomes.size && outcome()) {
    const wanted = outcome().levels.map((name) => state.outcomes.has(name));
    every.push((row) => wanted[outcome().codes[row]]);
  }
  state.causes.forEach((name, run) => name && causes[run] && every.push(labelTest(causes[run], name)));
  state.slices.forEach((label, place) => label && every.push(labelTest(slices[place], label)));
  for (const one of state.where) if (isWhole(one)) every.push(conditionTest(one));
  return every;
}

function matching() {
  const every = tests();
  const found = [];
  for (let row = 0; row < N; row += 1) if (every.every((test) => test(row))) found.push(row);
  const column = columns().find((one) => one.key === state.sort);
  return column ? sorted(found, column) : found;
}

const collator = new Intl.Collator("en", { numeric: true });

// What is missing stands last, whichever way the others are sorted; equals keep their order.
function sorted(found, column) {
  const values = found.map((row) => column.value(row));
  const is_missing = values.map((value) => value === "" || Number.isNaN(value));
  const sign = state.down ? -1 : 1;
  const compared = (a, b) => (typeof values[a] === "number" ? values[a] - values[b] : collator.compare(values[a], values[b]));
  const places = found.map((_, place) => place);
  places.sort((a, b) => is_missing[a] - is_missing[b] || (is_missing[a] ? 0 : sign * compared(a, b)) || a - b);
  return places.map((place) => found[place]);
}

