// -- the table itself

const explorer = document.getElementById("explorer");
const parts = {};

function headOf(every) {
  return element("tr", { role: "row" }, ...every.map((column) => {
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

function entryOf(row, every) {
  const is_open = state.open.has(row);
  const toggle = element("button", { type: "button", class: "toggle", "aria-expanded": String(is_open), "aria-controls": `query-${row}` });
  appendText(toggle, data.ids[row]);
  const cells = every.slice(1).map((column) => {
    const told = column.cell(row);
    return element("td", { role: "cell", class: told[0] === "–" ? `${column.kind} none` : column.kind, "data-label": column.title }, ...told);
  });
  const entry = element("tr", { class: is_open ? "entry open" : "entry", role: "row", "data-row": row },
    element("th", { scope: "row", role: "rowheader" }, toggle), ...cells);
  return is_open ? [entry, openedOf(row, every.length)] : [entry];
}

function openedOf(row, width) {
  return element("tr", { class: "detail", role: "row", id: `query-${row}` }, element("td", { colspan: width, role: "cell" }, ...detailOf(row)));
}

function toggleRow(entry) {
  const row = Number(entry.dataset.row);
  const is_open = !state.open.has(row);
  if (is_open) {
    state.open.add(row);
    entry.after(openedOf(row, entry.children.length));
  } else {
    state.open.delete(row);
    entry.nextElementSibling.remove();
  }
  entry.classList.toggle("open", is_open);
  entry.querySelector(".toggle").setAttribute("aria-expanded", String(is_open));
  keepAddress();
}

function clicked(event) {
  const entry = event.target.closest(".entry");
  if (entry && (event.target.closest(".toggle") || !String(getSelection()))) toggleRow(entry);
}

// The arrows go from query to query; Enter, as for every button, opens and closes.
function pressed(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || !event.target.classList.contains("toggle")) return;
  const every = [...parts.body.querySelectorAll(".toggle")];
  const next = every[every.indexOf(event.target) + step];
  if (next) next.focus();
  event.preventDefault();
}

function show() {
  rows = matching();
  state.page = Math.min(state.page, Math.max(Math.ceil(rows.length / state.size), 1));
  fill(rows.slice((state.page - 1) * state.size, state.page * state.size));
  showPager();
  parts.found.textContent = foundText();
  keepAddress();
}

function fill(shown) {
  const every = columns();
  parts.head.replaceChildren(headOf(every));
  parts.body.replaceChildren(...shown.flatMap((row) => entryOf(row, every)));
  if (!shown.length) parts.body.append(element("tr", { role: "row" }, element("td", { colspan: every.length, role: "cell", class: "state" }, "No query matches these filters.")));
}

function foundText() {
  const told = [];
  if (state.q.trim()) told.push(`“${state.q.trim()}”`);
  if (state.outcomes.size) told.push([...state.outcomes].join(" or "));
  state.causes.forEach((name, run) => name && told.push(IS_COMPARISON ? `${RUNS[run]} fails of ${name}` : name));
  state.slices.forEach((label, place) => label && told.push(`${slices[place].name}: ${label}`));
  for (const one of state.where) if (isWhole(one)) told.push(conditionText(one));
  const counted = `${rows.length.toLocaleString("en")} of ${N.toLocaleString("en")} queries`;
  return told.length ? `${counted}: ${told.join("; ")}` : counted;
}

function showPager() {
  const pages = Math.max(Math.ceil(rows.length / state.size), 1);
  const first = rows.length ? (state.page - 1) * state.size + 1 : 0;
  parts.place.textContent = `${first} to ${Math.min(state.page * state.size, rows.length)} of ${rows.length.toLocaleString("en")}`;
  parts.back.disabled = state.page <= 1;
  parts.on.disabled = state.page >= pages;
  parts.size.value = String(state.size);
}

function turn(by) {
  state.page += by;
  show();
  parts.found.scrollIntoView({ block: "nearest" });
}

// -- the controls

function changed() {
  state.page = 1;
  show();
}

function choice(title, offered, value, take) {
  const select = element("select", { onchange: () => take(select.value) }, ...offered.map(([told, text]) => element("option", { value: told }, text)));
  select.value = offered.some(([told]) => String(told) === String(value)) ? String(value) : String(offered[0][0]);
  return labelled(title, select);
}

let n_fields = 0;

function labelled(title, control, kind = "") {
  control.id = `field-${n_fields += 1}`;
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
  const told = outcome();
  if (!told) return null;
  const counts = countsOf(told);
  const buttons = told.levels.map((name, code) => counts[code] ? element("button", {
    type: "button", "aria-pressed": String(state.outcomes.has(name)),
    onclick: (event) => {
      if (!state.outcomes.delete(name)) state.outcomes.add(name);
      event.currentTarget.setAttribute("aria-pressed", String(state.outcomes.has(name)));
      changed();
    },
  }, `${name} (${counts[code]})`) : null);
  return element("fieldset", {}, element("legend", {}, IS_COMPARISON ? "Outcome" : "Answer"), element("div", { class: "buttons" }, ...buttons));
}

function conditionRow(one) {
  const update = (name, value) => {
    one[name] = value;
    if (name === "metric" && !sidesOf(metrics[value]).some((known) => known.run === one.run)) one.run = BASELINE;
    changed();
    if (name === "metric" || name === "operator") showConditions();
  };
  const select = (label, options, name, read) => {
    const made = element("select", { "aria-label": label, onchange: () => update(name, read(made.value)) }, ...options.map(([told, text]) => element("option", { value: told }, text)));
    made.value = String(one[name]);
    return made;
  };
  const value = isWord(one.operator) ? null : element("input", {
    type: "number", step: "any", "aria-label": "Threshold", placeholder: "threshold", value: one.value,
    oninput: (event) => update("value", event.target.value),
  });
  const remove = element("button", {
    type: "button", "aria-label": `Remove the condition on ${metrics[one.metric].title}`,
    onclick: () => {
      state.where.splice(state.where.indexOf(one), 1);
      showConditions();
      changed();
      parts.add.focus();
    },
  }, "Remove");
  return element("div", { class: "where" },
    select("Metric", metrics.map((metric, place) => [place, metric.title]), "metric", Number),
    IS_COMPARISON ? select("Of", sidesOf(metrics[one.metric]).map(({ name, run }) => [run, name]), "run", Number) : null,
    select("Relation", OPERATORS.map((name) => [name, isWord(name) ? `is ${name}` : name]), "operator", String),
    value, remove);
}

function showConditions() {
  const told = document.activeElement && parts.where.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
  parts.where.replaceChildren(...state.where.map(conditionRow));
  if (told) parts.where.querySelector(`[aria-label="${CSS.escape(told)}"]`)?.focus();
}

function controls() {
  const search = element("input", { type: "search", placeholder: "ids, questions, answers, contexts, reasons", value: state.q });
  let waiting = 0;
  search.addEventListener("input", () => {
    state.q = search.value;
    clearTimeout(waiting);
    waiting = setTimeout(changed, 0); // what was typed in one go is looked for once
  });
  const first = [labelled("Search in all queries", search, "search")];
  if (RUNS.length > 2) first.push(choice("Candidate", RUNS.slice(1).map((name, place) => [place + 1, name]), state.with, (value) => { state.with = Number(value); state.outcomes.clear(); showControls(); changed(); }));
  if (IS_COMPARISON) first.push(choice("Scores shown", metrics.map((one, place) => [place, one.title]), state.metric, (value) => { state.metric = Number(value); if (!["query", "question", "outcome"].includes(state.sort)) state.sort = ""; changed(); }));
  const second = slices.map((one, place) => choice(one.name, [["", "all"], ...options(one)], state.slices[place], (label) => { state.slices[place] = label; changed(); }));
  causes.forEach((one, run) => one && second.push(choice(IS_COMPARISON ? `Why ${RUNS[run]} fails` : "Cause of failure", [["", "any"], ...options(one)], state.causes[run], (name) => { state.causes[run] = name; changed(); })));
  parts.where = element("div", {});
  parts.add = element("button", { type: "button", onclick: addCondition }, "Add a condition");
  const reset = element("button", { type: "button", onclick: () => { state = fresh(); showControls(); show(); } }, "Reset");
  const conditions = element("fieldset", {}, element("legend", {}, "Scores"), parts.where, element("div", { class: "buttons" }, parts.add, reset));
  return [
    element("div", { class: "row" }, ...first), outcomeButtons(),
    second.length ? element("div", { class: "row" }, ...second) : null,
    conditions,
  ].filter(Boolean);
}

function addCondition() {
  const metric = IS_COMPARISON ? state.metric : 0;
  const run = IS_COMPARISON ? state.with : BASELINE;
  state.where.push({ metric, run: metrics[metric].runs[run] ? run : BASELINE, operator: metrics[metric].up ? "<" : ">", value: "" });
  showConditions();
  parts.where.lastElementChild.querySelector("input").focus();
}

function showControls() {
  parts.filters.replaceChildren(...controls());
  showConditions();
}

function build() {
  parts.filters = element("form", { class: "filters", role: "search", "aria-label": "Filter the queries", onsubmit: (event) => event.preventDefault() });
  parts.found = element("p", { class: "found", role: "status", "aria-live": "polite" });
  parts.head = element("thead", { role: "rowgroup" });
  parts.body = element("tbody", { role: "rowgroup", onclick: clicked, onkeydown: pressed });
  parts.back = element("button", { type: "button", onclick: () => turn(-1) }, "Previous");
  parts.on = element("button", { type: "button", onclick: () => turn(1) }, "Next");
  parts.place = element("span", {});
  parts.size = element("select", { onchange: () => { state.size = Number(parts.size.value); changed(); } }, ...[25, 50, 100, 500].map((size) => element("option", { value: size }, String(size))));
  const table = element("table", { class: "queries", role: "table", "aria-label": "Queries" }, parts.head, parts.body);
  parts.printed = element("p", { class: "hint", hidden: true });
  explorer.replaceChildren(
    parts.filters, parts.found, parts.printed,
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of queries" }, table),
    element("div", { class: "pager" }, parts.back, parts.place, parts.on, element("label", {}, "Rows on a page", parts.size)),
    element("p", { class: "hint screen" }, `The search above looks through all queries; the browser’s own looks only at the rows on this page. Printed are the queries that match, up to ${MOST_PRINTED}, and open rows with all they hold. The address of this page keeps the view.`),
    data.cut ? element("p", { class: "hint" }, `${data.cut} long texts are cut, where they say so.`) : "",
  );
}

// -- print: all queries that match, as far as paper is patient

const folded = () => document.querySelectorAll("details");
let unfolded = [];

function toPaper() {
  unfolded = [...folded()].filter((one) => !one.open);
  for (const one of unfolded) one.open = true;
  fill(rows.slice(0, MOST_PRINTED));
  // The head is repeated on each sheet of paper, but buttons in it are not.
  for (const button of parts.head.querySelectorAll("button")) button.replaceWith(button.textContent);
  parts.printed.hidden = rows.length <= MOST_PRINTED;
  parts.printed.textContent = `The first ${MOST_PRINTED} of ${rows.length.toLocaleString("en")} queries are printed; filter them to print others.`;
}

function fromPaper() {
  parts.printed.hidden = true;
  for (const one of unfolded) one.open = false;
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
  const kept = () => { try { return localStorage.getItem("rageval-report-colours") || ""; } catch { return ""; } };
  const keep = (name) => { try { localStorage.setItem("rageval-report-colours", name); } catch { /* not every place lets a page keep things */ } };
  for (const [name, title] of [["", "Auto"], ["light", "Light"], ["dark", "Dark"]]) {
    group.append(element("button", { type: "button", value: name, onclick: () => { pick(name); keep(name); } }, title));
  }
  group.hidden = false;
  pick(["light", "dark"].includes(kept()) ? kept() : "");
}

// Links to sections leave the view in the address alone.
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
  showControls();
  show();
}

themes();
build();
if (isView(location.hash)) fromAddress(location.hash.slice(1));
showControls();
show();
if (isView(location.hash)) document.getElementById("queries").scrollIntoView();
addEventListener("hashchange", restore);
addEventListener("beforeprint", toPaper);
addEventListener("afterprint", fromPaper);
document.addEventListener("click", toSection);
