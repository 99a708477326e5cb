// -- two pipelines of a ranking, as the reader picks them: numbers that the library computed

const pairView = document.getElementById("pair");
const NAMED_TONES = { better: "better", worse: "worse", equivalent: "equivalent", identical: "equivalent" };
const SHAPES = { better: ["path", { d: "M0-6 6 5H-6Z" }], worse: ["path", { d: "M0 6 6-5H-6Z" }], equivalent: ["path", { d: "M0-6 6 0 0 6-6 0Z" }], identical: ["path", { d: "M0-6 6 0 0 6-6 0Z" }] };
const SHOWN_ORDER = ["worse", "better", "equivalent", "direction unknown", "identical", "undecided", "not tested"];
const TURNED = { better: "worse", worse: "better" };

function mark(shown) {
  const [name, attributes] = SHAPES[shown] || ["circle", { r: 4.4, class: "hollow" }];
  return drawing(name, attributes);
}

function pairOf(base, other) {
  for (const known of data.pairs) {
    if (known.pair[0] === base && known.pair[1] === other) return { text: known.texts[0], rows: known.rows.map((row) => rowOf(row, false)) };
    if (known.pair[1] === base && known.pair[0] === other) return { text: known.texts[1], rows: known.rows.map((row) => rowOf(row, true)) };
  }
  return null;
}

function rowOf(row, isTurned) {
  const [first, second, difference, low, high] = row.numbers.map((value) => (value === null ? NaN : value));
  const common = { metric: row.metric, up: row.up, share: row.share, hover: row.hover[isTurned ? 1 : 0] };
  if (!isTurned) return { ...common, shown: row.shown, means: [first, second], difference, low, high, wins: row.counts[0], losses: row.counts[2] };
  return { ...common, shown: TURNED[row.shown] || row.shown, means: [second, first], difference: 0 - difference, low: 0 - high, high: 0 - low, wins: row.counts[2], losses: row.counts[0] };
}

function reach(row) {
  return Math.max(...[row.low, row.high, row.difference].map(Math.abs).filter(Number.isFinite), 0);
}

function whisker(row, half) {
  const place = (value) => `${(50 + (50 * (row.up ? value : -value)) / half).toFixed(2)}%`;
  const parts = [drawing("title", {}, row.hover), drawing("line", { x1: "50%", x2: "50%", y1: 0, y2: 40, class: "zero" })];
  if (Number.isFinite(row.low) && Number.isFinite(row.high)) parts.push(drawing("line", { x1: place(row.low), x2: place(row.high), y1: 20, y2: 20, class: "span" }));
  if (Number.isFinite(row.difference)) parts.push(drawing("svg", { x: place(row.difference), y: 20, overflow: "visible" }, drawing("g", {}, mark(row.shown))));
  return drawing("svg", { class: "whisker", width: "100%", height: 40, role: "img", "aria-label": `${row.hover}: ${row.shown}` }, ...parts);
}

function pairRow(row, half) {
  const tone = NAMED_TONES[row.shown] || "undecided";
  const glyph = drawing("svg", { class: `glyph ${tone}`, viewBox: "-8 -8 16 16", width: 16, height: 16, "aria-hidden": "true" }, mark(row.shown));
  return element("tr", { class: `metric ${tone}` },
    element("th", { scope: "row", class: "name" }, row.metric, row.up ? null : element("span", { class: "tag" }, "lower is better")),
    element("td", { class: "value" }, number(row.means[0])), element("td", { class: "value" }, number(row.means[1])),
    element("td", { class: "difference" }, signed(row.difference)),
    element("td", { class: "interval" }, whisker(row, (row.share ? half : reach(row)) || 1)),
    element("td", { class: "verdict" }, element("span", { class: "word" }, glyph, element("b", {}, row.shown)), element("span", { class: "reason" }, `better on ${row.wins}, worse on ${row.losses}`)));
}

function showPair() {
  if (!pairView || !data.pairs.length) return;
  const known = pairOf(state.base, state.with);
  const pick = (title, run, set) => choice(title, SHORT.map((name, place) => [place, name]), run, (value) => { set(Number(value)); pairChanged(); });
  const pickers = element("div", { class: "row pickers" },
    pick("Baseline", state.base, (run) => { if (run === state.with) state.with = state.base; state.base = run; }),
    pick("Candidate", state.with, (run) => { if (run === state.base) state.base = state.with; state.with = run; }));
  if (!known) {
    pairView.replaceChildren(pickers, element("p", { class: "state" }, "These two have no metric in common that was tested."));
    return;
  }
  const half = Math.max(...known.rows.filter((row) => row.share).map(reach), 0) * 1.05;
  const rows = [...known.rows].sort((a, b) => SHOWN_ORDER.indexOf(a.shown) - SHOWN_ORDER.indexOf(b.shown));
  const heads = [["Metric", "name"], ["Baseline", "value"], ["Candidate", "value"], ["Difference", "difference"], ["← worse · better →", "interval"], ["Verdict", "verdict"]];
  const table = element("table", { class: "strip pair-strip", "aria-label": "The two pipelines, metric by metric" },
    element("thead", {}, element("tr", {}, ...heads.map(([title, kind]) => element("th", { scope: "col", class: kind }, title)))),
    element("tbody", {}, ...rows.map((row) => pairRow(row, half))));
  pairView.replaceChildren(pickers, element("p", { class: "pair-text" }, element("b", {}, known.text)), table,
    element("p", { class: "hint" }, half ? `The intervals of metrics between 0 and 1 share one axis, ±${number(half)}.` : ""));
  for (const link of document.querySelectorAll(".pair-matrix a")) link.removeAttribute("aria-current");
  const chosen = document.querySelector(`.pair-matrix tbody tr:nth-child(${state.with + 1}) td:nth-child(${state.base + 2}) a`);
  if (chosen) chosen.setAttribute("aria-current", "true");
}

function pairChanged() {
  const focused = document.activeElement?.closest?.(".pickers") ? [...pairView.querySelectorAll("select")].indexOf(document.activeElement) : -1;
  showControls();
  filtersChanged();
  showPair();
  if (focused >= 0) pairView.querySelectorAll("select")[focused]?.focus();
}
