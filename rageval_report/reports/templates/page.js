// -- the table itself

const explorer = document.getElementById("explorer");
const parts = {};

function headOf(shownColumns) {
  return element("tr", { role: "row" }, ...shownColumns.map((column) => {
    const direction = state.sort === column.key ? (state.down ? "descending" : "ascending") : "none";
    const button = element("button", { type: "button", onclick: () => sortBy(column.key) }, column.title);
    return element("th", { scope: "col", role: "columnheader", "aria-sort": direction, class: column.kind === "number" ? "number" : "" }, button);
  }));
}

function sortBy(key) {
  if (state.sort !== key) [state.sort, state.down] = [key, false];
  else if (!state.down) state.down = true;
  else [state.sort, state.down] = ["", false];
  state.page = 1;
  show();
  const place = columns().findIndex((column) => column.key === key);
  parts.head.querySelectorAll("button")[place]?.focus();
}

function entryOf(row, shownColumns) {
  const isOpen = state.open.has(row);
  const toggle = element("button", { type: "button", class: "toggle", "aria-expanded": String(isOpen), "aria-controls": `query-${row}` }, ...shownColumns[0].cell(row));
  const cells = shownColumns.slice(1).map((column) => {
    const content = column.cell(row);
    return element("td", { role: "cell", class: content[0] === "–" ? `${column.kind} none` : column.kind, "data-label": column.title }, ...content.filter((part) => part !== null));
  });
  const entry = element("tr", { class: isOpen ? "entry open" : "entry", role: "row", "data-row": row, "data-id": data.ids[row] },
    element("th", { scope: "row", role: "rowheader", class: "long" }, toggle), ...cells);
  return isOpen ? [entry, detailRow(row, shownColumns.length)] : [entry];
}

function detailRow(row, width) {
  return element("tr", { class: "detail", role: "row", id: `query-${row}` }, element("td", { colspan: width, role: "cell" }, ...detailOf(row)));
}

function toggleRow(entry) {
  const row = Number(entry.dataset.row);
  const isOpen = !state.open.has(row);
  if (isOpen) {
    state.open.add(row);
    entry.after(detailRow(row, entry.children.length));
  } else {
    state.open.delete(row);
    entry.nextElementSibling.remove();
  }
  entry.classList.toggle("open", isOpen);
  entry.querySelector(".toggle").setAttribute("aria-expanded", String(isOpen));
  keepAddress();
}

// The query before or after an open one, on the next page of the table if need be.
function step(entry, by) {
  const row = Number(entry.dataset.row);
  const place = rows.indexOf(row) + by;
  if (place < 0 || place >= rows.length) return;
  state.open.delete(row);
  state.open.add(rows[place]);
  state.page = Math.floor(place / state.size) + 1;
  show();
  const next = parts.body.querySelector(`[data-row="${rows[place]}"]`);
  next.querySelector(".toggle").focus({ preventScroll: true });
  next.scrollIntoView({ block: "start" });
}

function onClick(event) {
  const button = event.target.closest(".step");
  if (button) {
    step(button.closest(".detail").previousElementSibling, Number(button.dataset.step));
    return;
  }
  const entry = event.target.closest(".entry");
  if (entry && (event.target.closest(".toggle") || !String(getSelection()))) toggleRow(entry);
}

// The arrow keys move from query to query; Enter, as for every button, opens and closes; j and k
// open the next and the previous query in place of an open one.
function onKey(event) {
  if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  const by = { j: 1, k: -1 }[event.key];
  if (by) {
    const entry = event.target.closest(".detail")?.previousElementSibling || event.target.closest(".entry");
    if (entry) step(entry, by);
    return;
  }
  const down = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!down || !event.target.classList.contains("toggle")) return;
  const toggles = [...parts.body.querySelectorAll(".toggle")];
  const next = toggles[toggles.indexOf(event.target) + down];
  if (next) next.focus();
  event.preventDefault();
}

function show() {
  rows = matchingRows();
  state.page = Math.min(state.page, Math.max(Math.ceil(rows.length / state.size), 1));
  fill(rows.slice((state.page - 1) * state.size, state.page * state.size));
  showPager();
  parts.status.textContent = statusText();
  parts.key.textContent = keyText();
  keepAddress();
}

function fill(shown) {
  const shownColumns = columns();
  parts.head.replaceChildren(headOf(shownColumns));
  parts.body.replaceChildren(...shown.flatMap((row) => entryOf(row, shownColumns)));
  if (!shown.length) parts.body.append(element("tr", { role: "row" }, element("td", { colspan: shownColumns.length, role: "cell", class: "state" }, "No query matches these filters.")));
}

function statusText() {
  const filters = [];
  if (state.q.trim()) filters.push(`“${state.q.trim()}”`);
  if (state.outcomes.size) filters.push([...state.outcomes].join(" or "));
  state.causes.forEach((name, run) => name && filters.push(IS_COMPARISON ? `${SHORT[run]} fails because of ${name}` : name));
  state.slices.forEach((label, place) => label && filters.push(`${slices[place].name}: ${label}`));
  for (const condition of state.where) if (isComplete(condition)) filters.push(conditionText(condition));
  const count = `${rows.length.toLocaleString("en")} of ${N.toLocaleString("en")} queries`;
  return filters.length ? `${count}: ${filters.join("; ")}` : count;
}

// What the marks of a row are, and in which order the rows stand.
function keyText() {
  if (!IS_COMPARISON) return "";
  const marks = state.metric < 0 ? `A tick is ${SHORT[state.base]}, a dot is ${SHORT[state.with]}; right is better. ` : "";
  return `${marks}${state.sort ? "" : "The largest fall over all metrics comes first."}`;
}

function showPager() {
  const pages = Math.max(Math.ceil(rows.length / state.size), 1);
  const first = rows.length ? (state.page - 1) * state.size + 1 : 0;
  parts.place.textContent = `${first} to ${Math.min(state.page * state.size, rows.length)} of ${rows.length.toLocaleString("en")}`;
  parts.previous.disabled = state.page <= 1;
  parts.next.disabled = state.page >= pages;
  parts.size.value = String(state.size);
}

function turn(by) {
  state.page += by;
  show();
  parts.status.scrollIntoView({ block: "nearest" });
}

// -- the controls

function filtersChanged() {
  state.page = 1;
  show();
}

function choice(title, choices, value, onChoice) {
  const select = element("select", { onchange: () => onChoice(select.value) }, ...choices.map(([key, text]) => element("option", { value: key }, text)));
  select.value = choices.some(([key]) => String(key) === String(value)) ? String(value) : String(choices[0][0]);
  return withLabel(title, select);
}

let nFields = 0;

function withLabel(title, control, kind = "") {
  control.id = `field-${nFields += 1}`;
  return element("div", { class: `field ${kind}` }, element("label", { for: control.id }, title), control);
}

function countsOf(column) {
  const counts = new Array(column.levels.length).fill(0);
  for (const code of column.codes) if (code >= 0) counts[code] += 1;
  return counts;
}

function options(column) {
  const counts = countsOf(column);
  return column.levels.map((label, code) => [label, `${label} (${counts[code]})`]).filter((_, code) => counts[code]);
}

function outcomeButtons() {
  const labels = outcome();
  if (!labels) return null;
  const counts = countsOf(labels);
  const buttons = labels.levels.map((name, code) => counts[code] ? element("button", {
    type: "button", "aria-pressed": String(state.outcomes.has(name)),
    onclick: (event) => {
      if (!state.outcomes.delete(name)) state.outcomes.add(name);
      event.currentTarget.setAttribute("aria-pressed", String(state.outcomes.has(name)));
      filtersChanged();
    },
  }, `${name} (${counts[code]})`) : null);
  return element("fieldset", {}, element("legend", {}, IS_COMPARISON ? "Outcome" : "Answer"), element("div", { class: "buttons" }, ...buttons));
}

function conditionRow(condition) {
  const update = (name, value) => {
    condition[name] = value;
    if (name === "metric" && !sidesOf(metrics[value]).some((known) => known.run === condition.run)) condition.run = state.base;
    filtersChanged();
    if (name === "metric" || name === "operator") showConditions();
  };
  const select = (label, options, name, read) => {
    const control = element("select", { "aria-label": label, onchange: () => update(name, read(control.value)) }, ...options.map(([key, text]) => element("option", { value: key }, text)));
    control.value = String(condition[name]);
    return control;
  };
  const value = isWord(condition.operator) ? null : element("input", {
    type: "number", step: "any", "aria-label": "Threshold", placeholder: "threshold", value: condition.value,
    oninput: (event) => update("value", event.target.value),
  });
  const remove = element("button", {
    type: "button", "aria-label": `Remove the condition on ${metrics[condition.metric].title}`,
    onclick: () => {
      state.where.splice(state.where.indexOf(condition), 1);
      showConditions();
      filtersChanged();
      parts.add.focus();
    },
  }, "Remove");
  return element("div", { class: "where" },
    select("Metric", metrics.map((metric, place) => [place, metric.title]), "metric", Number),
    IS_COMPARISON ? select("Of", sidesOf(metrics[condition.metric]).map(({ name, run }) => [run, name]), "run", Number) : null,
    select("Relation", OPERATORS.map((name) => [name, isWord(name) ? `is ${name}` : name]), "operator", String),
    value, remove);
}

function showConditions() {
  const focused = document.activeElement && parts.where.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
  parts.where.replaceChildren(...state.where.map(conditionRow));
  if (focused) parts.where.querySelector(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
}

function controls() {
  const search = element("input", { type: "search", placeholder: "ids, questions, answers, contexts, reasons", value: state.q });
  let waiting = 0;
  search.addEventListener("input", () => {
    state.q = search.value;
    clearTimeout(waiting);
    waiting = setTimeout(filtersChanged, 0); // what was typed at once is searched once
  });
  const first = [withLabel("Search in all queries", search, "search")];
  if (RUNS.length > 2) {
    const all = SHORT.map((name, run) => [run, name]);
    first.push(choice("Baseline", all.filter(([run]) => run !== state.with), state.base, (value) => { state.base = Number(value); pairChanged(); }));
    first.push(choice("Candidate", all.filter(([run]) => run !== state.base), state.with, (value) => { state.with = Number(value); pairChanged(); }));
  }
  if (IS_COMPARISON) first.push(choice("Scores shown", [[-1, "All metrics"], ...metrics.map((metric, place) => [place, metric.title])], state.metric, (value) => { state.metric = Number(value); if (!["query", "question", "outcome"].includes(state.sort)) state.sort = ""; filtersChanged(); }));
  const second = slices.map((slice, place) => choice(slice.name, [["", "all"], ...options(slice)], state.slices[place], (label) => { state.slices[place] = label; filtersChanged(); }));
  causes.forEach((cause, run) => cause && sides().includes(run) && second.push(choice(IS_COMPARISON ? `Why ${SHORT[run]} fails` : "Cause of failure", [["", "any"], ...options(cause)], state.causes[run], (name) => { state.causes[run] = name; filtersChanged(); })));
  parts.where = element("div", {});
  parts.add = element("button", { type: "button", onclick: addCondition }, "Add a condition");
  const reset = element("button", { type: "button", onclick: () => { state = fresh(); showControls(); show(); showPair(); } }, "Reset");
  const conditions = element("fieldset", {}, element("legend", {}, "Scores"), parts.where, element("div", { class: "buttons" }, parts.add, reset));
  return [
    element("div", { class: "row" }, ...first), outcomeButtons(),
    second.length ? element("div", { class: "row" }, ...second) : null,
    conditions,
  ].filter(Boolean);
}

function addCondition() {
  const metric = Math.max(state.metric, 0);
  const run = IS_COMPARISON ? state.with : 0;
  state.where.push({ metric, run: metrics[metric].runs[run] ? run : state.base, operator: metrics[metric].up ? "<" : ">", value: "" });
  showConditions();
  parts.where.lastElementChild.querySelector("input").focus();
}

function showControls() {
  parts.filters.replaceChildren(...controls());
  showConditions();
}

function build() {
  parts.filters = element("form", { class: "filters", role: "search", "aria-label": "Filter the queries", onsubmit: (event) => event.preventDefault() });
  parts.key = element("p", { class: "hint" });
  parts.status = element("p", { class: "found", role: "status", "aria-live": "polite" });
  parts.head = element("thead", { role: "rowgroup" });
  parts.body = element("tbody", { role: "rowgroup", onclick: onClick, onkeydown: onKey });
  parts.previous = element("button", { type: "button", onclick: () => turn(-1) }, "Previous");
  parts.next = element("button", { type: "button", onclick: () => turn(1) }, "Next");
  parts.place = element("span", {});
  parts.size = element("select", { onchange: () => { state.size = Number(parts.size.value); filtersChanged(); } }, ...[25, 50, 100, 500].map((size) => element("option", { value: size }, String(size))));
  const table = element("table", { class: "queries", role: "table", "aria-label": "Queries" }, parts.head, parts.body);
  parts.printed = element("p", { class: "hint", hidden: true });
  explorer.replaceChildren(
    parts.filters, parts.status, parts.key, parts.printed,
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of queries" }, table),
    element("div", { class: "pager" }, parts.previous, parts.place, parts.next, element("label", {}, "Rows on a page", parts.size)),
    element("p", { class: "hint screen" }, `The search above looks through all queries; the search of the browser looks only at the rows on this page. A print has the queries that match, up to ${MOST_PRINTED}, with the details of open rows. The address of this page keeps the view. In an open query, the keys j and k go to the next and the previous one.`),
    data.cut ? element("p", { class: "hint" }, `${data.cut === 1 ? "1 long text is" : `${data.cut} long texts are`} cut; each says how much is left out.`) : "",
  );
}

// -- print: the queries that match

const folded = () => document.querySelectorAll("details");
let unfolded = [];

function toPaper() {
  unfolded = [...folded()].filter((details) => !details.open);
  for (const details of unfolded) details.open = true;
  fill(rows.slice(0, MOST_PRINTED));
  // Browsers repeat the table head on each sheet of paper, but not buttons in it.
  for (const button of parts.head.querySelectorAll("button")) button.replaceWith(button.textContent);
  parts.printed.hidden = rows.length <= MOST_PRINTED;
  parts.printed.textContent = `The first ${MOST_PRINTED} of ${rows.length.toLocaleString("en")} queries are printed; filter them to print others.`;
}

function fromPaper() {
  parts.printed.hidden = true;
  for (const details of unfolded) details.open = false;
  fill(rows.slice((state.page - 1) * state.size, state.page * state.size));
}

// -- the colours

function themes() {
  const group = document.getElementById("theme");
  const root = document.documentElement;
  const pick = (name) => {
    if (name) root.dataset.theme = name;
    else delete root.dataset.theme;
    for (const button of group.children) button.setAttribute("aria-pressed", String(button.value === name));
  };
  const readTheme = () => { try { return localStorage.getItem("rageval-report-colours") || ""; } catch { return ""; } };
  const saveTheme = (name) => { try { localStorage.setItem("rageval-report-colours", name); } catch { /* not every browser lets a local page store things */ } };
  for (const [name, title] of [["", "Auto"], ["light", "Light"], ["dark", "Dark"]]) {
    group.append(element("button", { type: "button", value: name, onclick: () => { pick(name); saveTheme(name); } }, title));
  }
  group.hidden = false;
  pick(["light", "dark"].includes(readTheme()) ? readTheme() : "");
}

// Links to sections do not replace the view in the address.
function toSection(event) {
  const link = event.target.closest('a[href^="#"]');
  const target = link && document.getElementById(link.getAttribute("href").slice(1));
  if (!target || !isView(location.hash)) return;
  event.preventDefault();
  target.setAttribute("tabindex", "-1");
  target.focus({ preventScroll: true });
  target.scrollIntoView();
}

function restore() {
  if (location.hash.length > 1 && !isView(location.hash)) return;
  fromAddress(location.hash.slice(1));
  toOpenQuery();
  showControls();
  show();
  showPair();
  toQueries();
}

// The page of the table that has the query of a link.
function toOpenQuery() {
  const [first] = state.open;
  if (first === undefined) return;
  const place = matchingRows().indexOf(first);
  if (place >= 0) state.page = Math.floor(place / state.size) + 1;
}

function toQueries() {
  const [first] = state.open;
  const entry = first === undefined ? null : parts.body.querySelector(`[data-row="${first}"]`);
  const isPair = /^#(base|with)=[^&]*(&(base|with)=[^&]*)*$/.test(location.hash);
  (isPair && pairView ? pairView : entry || document.getElementById("queries")).scrollIntoView();
}

themes();
build();
if (isView(location.hash)) fromAddress(location.hash.slice(1));
toOpenQuery();
showControls();
const isLinked = isView(location.hash);
show();
showPair();
if (isLinked) toQueries();
addEventListener("hashchange", restore);
addEventListener("beforeprint", toPaper);
addEventListener("afterprint", fromPaper);
document.addEventListener("click", toSection);
