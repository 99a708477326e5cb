// -- numbers as texts

function number(value) {
  const size = Math.abs(value);
  if (size === 0 || size < NOISE) return "0.000";
  const text = size < 0.001 ? String(Number(size.toPrecision(2))) : size.toFixed(size < 9.9995 ? 3 : size < 99.995 ? 2 : size < 999.95 ? 1 : 0);
  return value < 0 ? `−${text}` : text;
}

function signed(value) {
  return value > NOISE ? `+${number(value)}` : number(value);
}

function scoreParts(metric, run, row) {
  const known = metric.runs[run];
  const score = known ? known.scores[row] : NaN;
  if (!Number.isNaN(score)) return [number(score)];
  return [element("span", { class: "state" }, stateOf(metric, run, row))];
}

function stateOf(metric, run, row) {
  const known = metric.runs[run];
  return (known && known.states.get(row)) || "missing";
}

function changeParts(metric, row) {
  const value = change(metric, row);
  if (Number.isNaN(value)) return ["–"];
  if (value === 0) return ["0.000"];
  const better = value > 0 === metric.up;
  return [
    element("span", { class: better ? "better" : "worse" },
      `${signed(value)} `,
      element("span", { "aria-hidden": "true" }, better ? "▲" : "▼"),
      element("span", { class: "unseen" }, better ? " better" : " worse")),
  ];
}

// -- the columns of the table

const MOST_MARKS = 12; // metrics that are drawn in a row

function sides() {
  return IS_COMPARISON ? [state.base, state.with] : [0];
}

function questionOf(row) {
  const field = fieldOf("question");
  if (!field) return "";
  const cell = RUNS.map((_, run) => cellOf(field, run, row)).find((found) => found !== -1);
  return textsOf(cell ?? -1).join(" ");
}

function columns() {
  const hasQuestion = Boolean(fieldOf("question"));
  const first = hasQuestion
    ? { key: "question", kind: "long", title: "Question", value: questionOf, cell: (row) => [clampedText(questionOf(row) || data.ids[row])] }
    : { key: "query", kind: "long", title: "Query", value: (row) => data.ids[row], cell: (row) => [clampedText(data.ids[row])] };
  const shownColumns = [first];
  const labels = outcome();
  if (labels) {
    shownColumns.push({ key: "outcome", kind: "label", title: IS_COMPARISON ? "Outcome" : "Answer", value: (row) => labels.codes[row], cell: (row) => [...outcomeParts(labels.levels[labels.codes[row]]), isDrawn ? causeTag(row) : null] });
  }
  const isDrawn = IS_COMPARISON && state.metric < 0;
  for (const run of isDrawn ? [] : sides()) {
    if (!causes[run]) continue;
    const name = (row) => causes[run].levels[causes[run].codes[row]];
    shownColumns.push({
      key: `cause.${RUNS[run]}`, kind: "cause", title: IS_COMPARISON ? `Cause, ${SHORT[run]}` : "Cause",
      value: (row) => (NO_FAILURE.has(name(row)) ? "" : name(row)), cell: (row) => [NO_FAILURE.has(name(row)) ? "–" : name(row)],
    });
  }
  shownColumns.push(...metricColumns());
  if (hasQuestion) shownColumns.push({ key: "query", kind: "id", title: "Query", value: (row) => data.ids[row], cell: (row) => [clampedText(data.ids[row])] });
  return shownColumns;
}

const OUTCOME_TONES = { "became right": "better", "became wrong": "worse" };

function outcomeParts(name) {
  const tone = OUTCOME_TONES[name];
  if (!tone) return [name];
  return [element("span", { class: tone }, element("span", { "aria-hidden": "true" }, tone === "better" ? "▲ " : "▼ "), name)];
}

// Why the candidate fails, else why the baseline does.
function causeTag(row) {
  for (const run of sides().reverse()) {
    const name = causes[run] && causes[run].levels[causes[run].codes[row]];
    if (name && !NO_FAILURE.has(name)) return element("span", { class: "tag" }, `${run === state.with ? "" : `${SHORT[run]}: `}${name}`);
  }
  return null;
}

function metricColumns() {
  if (!IS_COMPARISON) return metrics.map((metric) => scoreColumn(metric, 0, metric.title));
  if (state.metric >= 0) return comparedColumns(metrics[state.metric]);
  const shown = metrics.filter((metric) => metric.runs[state.base] && metric.runs[state.with]).slice(0, MOST_MARKS);
  return shown.map((metric) => ({
    key: `${metric.name}.change`, kind: "mark", title: metric.title,
    value: (row) => (metric.up ? 1 : -1) * change(metric, row), cell: (row) => [dumbbell(metric, row)],
  }));
}

function scoreColumn(metric, run, title) {
  const known = metric.runs[run];
  return {
    key: `${metric.name}.${RUNS[run]}`, kind: "number", title,
    value: (row) => (known ? known.scores[row] : NaN), cell: (row) => scoreParts(metric, run, row),
  };
}

function comparedColumns(metric) {
  if (!metric) return [];
  const changeColumn = { key: `${metric.name}.change`, kind: "number", title: "Change", value: (row) => change(metric, row), cell: (row) => changeParts(metric, row) };
  return [...sides().map((run) => scoreColumn(metric, run, SHORT[run])), changeColumn];
}

// -- one metric of one query: a tick for the baseline, a dot for the candidate, right is better

const spans = new Map();

function spanOf(metric) {
  if (!spans.has(metric)) {
    let [low, high] = [Infinity, -Infinity];
    for (const run of metric.runs) {
      if (!run) continue;
      for (const score of run.scores) {
        if (score < low) low = score;
        if (score > high) high = score;
      }
    }
    if (metric.width && low >= 0 && high <= metric.width) [low, high] = [0, metric.width];
    spans.set(metric, low < high ? [low, high] : [low - 0.5, low + 0.5]);
  }
  return spans.get(metric);
}

function placeOf(metric, value) {
  const [low, high] = spanOf(metric);
  const share = (value - low) / (high - low);
  return 4 + 52 * (metric.up ? share : 1 - share);
}

function dumbbell(metric, row) {
  const [before, after] = sides().map((run) => metric.runs[run].scores[row]);
  const texts = sides().map((run, place) => (Number.isNaN([before, after][place]) ? stateOf(metric, run, row) : number([before, after][place])));
  const parts = [drawing("line", { x1: 4, x2: 56, y1: 8, y2: 8, class: "rule" })];
  const value = change(metric, row);
  if (value) parts.push(drawing("line", { x1: placeOf(metric, before).toFixed(1), x2: placeOf(metric, after).toFixed(1), y1: 8, y2: 8, class: `way ${value > 0 === metric.up ? "better" : "worse"}` }));
  if (!Number.isNaN(before)) {
    const x = placeOf(metric, before).toFixed(1);
    parts.push(drawing("line", { x1: x, x2: x, y1: 3, y2: 13, class: "before" }));
  }
  if (!Number.isNaN(after)) parts.push(drawing("circle", { cx: placeOf(metric, after).toFixed(1), cy: 8, r: 3.5, class: "after" }));
  const label = `${metric.title}: ${texts[0]} → ${texts[1]}`;
  return element("span", { class: "dumbbell", role: "img", "aria-label": label, title: label }, drawing("svg", { width: 60, height: 16, "aria-hidden": "true" }, ...parts));
}

function clampedText(text) {
  const block = element("span", { class: "clamp", dir: "auto" });
  appendText(block, text.length > 240 ? `${text.slice(0, 240)}…` : text);
  return block;
}

// -- a row that is open

function detailOf(row) {
  const shown = sides();
  return [
    detailTools(row),
    ...textSection("Question", fieldOf("question"), shown, row),
    ...textSection("Reference", fieldOf("reference"), shown, row),
    ...answers(shown, row),
    ...scoreTable(shown, row),
    ...contexts(shown, row),
    ...others(shown, row),
  ];
}

function detailTools(row) {
  const done = element("span", { role: "status" });
  const copy = element("button", { type: "button", onclick: async () => { done.textContent = (await toClipboard(markdownOf(row))) ? "Copied" : "The browser does not allow copying"; } }, "Copy as Markdown");
  return element("div", { class: "detail-tools buttons" },
    element("button", { type: "button", class: "step", "data-step": "-1", "aria-keyshortcuts": "k", title: "key k" }, "Previous query"),
    element("button", { type: "button", class: "step", "data-step": "1", "aria-keyshortcuts": "j", title: "key j" }, "Next query"),
    copy,
    element("a", { href: `#${addressOf(row)}` }, "Link to this query"),
    done);
}

function addressOf(row) {
  const parameters = new URLSearchParams();
  if (state.base !== 0) parameters.set("base", RUNS[state.base]);
  if (state.with !== 1 && IS_COMPARISON) parameters.set("with", RUNS[state.with]);
  parameters.set("open", data.ids[row]);
  return parameters.toString();
}

async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = element("textarea", { class: "unseen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    let isCopied = false;
    try { isCopied = document.execCommand("copy"); } catch { /* then it is not */ }
    area.remove();
    return isCopied;
  }
}

// A text of the evaluation as a block that Markdown cannot read: a fence longer than any in it.
function fenced(text) {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), (match) => match[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${text}\n${fence}`;
}

function markdownOf(row) {
  const cell = (text) => text.replace(/[|\\`*_<>[\]]/g, "\\$&").replace(/\s+/g, " ");
  const lines = [`## Query ${cell(data.ids[row])}`];
  const add = (title, text) => text && lines.push(`**${cell(title)}**`, fenced(text));
  add("Question", questionOf(row));
  const reference = fieldOf("reference");
  if (reference) add("Expected", textsOf(cellOf(reference, sides().find((run) => cellOf(reference, run, row) !== -1) ?? 0, row)).join("\n"));
  for (const run of sides()) add(`Answer of ${SHORT[run]}`, textsOf(cellOf(fieldOf("answer"), run, row)).join("\n"));
  const heads = ["Metric", ...sides().map((run) => SHORT[run])];
  const body = metrics.map((metric) => [metric.title, ...sides().map((run) => scoreParts(metric, run, row).map((part) => part.textContent ?? part).join(""))]);
  if (body.length) lines.push([heads, heads.map(() => "---"), ...body].map((cells, place) => `| ${cells.map(place === 1 ? String : cell).join(" | ")} |`).join("\n"));
  for (const metric of metrics) for (const run of sides()) add(`${metric.title}, ${SHORT[run]}: reason`, reasonOf(metric, run, row));
  return `${lines.join("\n\n")}\n`;
}

function textSection(title, field, shown, row) {
  if (!field) return [];
  const cells = shown.map((run) => textsOf(cellOf(field, run, row)));
  if (cells.every((texts) => !texts.length)) return [];
  if (field.shared || shown.length === 1 || cells[0].join() === cells[1].join()) return [element("h3", {}, title), ...cells[0].flatMap((text) => textBlock([[text, ""]]))];
  return [element("h3", {}, title), element("div", { class: "sides" }, ...shown.map((run, place) => side(SHORT[run], "", cells[place].flatMap((text) => textBlock([[text, ""]])))))];
}

function side(name, tag, content) {
  return element("div", { class: "side" }, element("h4", {}, element("bdi", {}, name), tag ? element("span", { class: "tag" }, tag) : null), ...content);
}

const LONGEST_COMPARED = 4e5;

function answers(shown, row) {
  const field = fieldOf("answer");
  if (!field) return [];
  const texts = shown.map((run) => textsOf(cellOf(field, run, row)).join("\n"));
  if (texts.every((text) => !text)) return [];
  const both = shown.length === 2 && texts[0] && texts[1];
  const tooLong = both && texts[0].length + texts[1].length > LONGEST_COMPARED;
  const pieces = both && !tooLong ? differences(...texts) : texts.map((text) => [[text, ""]]);
  const blocks = shown.map((run, place) => side(SHORT[run], answerTag(run, row), texts[place] ? textBlock(pieces[place]) : [element("p", { class: "state" }, "no answer")]));
  const equal = both && texts[0] === texts[1];
  const hint = equal ? "Both answers are the same." : tooLong ? "The answers are too long to mark their differences." : both ? "Struck through: only in the first answer. Underlined: only in the second." : "";
  return [element("h3", {}, shown.length === 2 ? "Answers" : "Answer"), element("div", { class: "sides" }, ...blocks), hint ? element("p", { class: "hint" }, hint) : null].filter(Boolean);
}

function answerTag(run, row) {
  const cause = causes[run] && causes[run].levels[causes[run].codes[row]];
  const tags = [];
  if (answered[run]) tags.push(answered[run].levels[answered[run].codes[row]]);
  if (cause && !NO_FAILURE.has(cause)) tags.push(`${cause}: ${data.meaning[cause]}`);
  return tags.join(", ");
}

function scoreTable(shown, row) {
  if (!metrics.length) return [];
  const hasReasons = metrics.some((metric) => shown.some((run) => reasonOf(metric, run, row)));
  const heads = ["Metric", ...(shown.length === 2 ? [...shown.map((run) => SHORT[run]), "Change"] : ["Score"]), ...(hasReasons ? ["Reason"] : [])];
  const head = element("tr", {}, ...heads.map((title, place) => element("th", { scope: "col", class: place && title !== "Reason" ? "number" : "" }, title)));
  const body = metrics.map((metric) => element("tr", {},
    element("th", { scope: "row" }, metric.title + (metric.up ? "" : " (lower is better)")),
    ...shown.map((run) => element("td", { class: "number" }, ...scoreParts(metric, run, row))),
    ...(shown.length === 2 ? [element("td", { class: "number" }, ...changeParts(metric, row))] : []),
    ...(hasReasons ? [element("td", {}, ...reasons(metric, shown, row))] : [])));
  return [element("h3", {}, "Scores"), element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Scores" }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)))];
}

function reasonOf(metric, run, row) {
  const known = metric.runs[run];
  return known && known.reasons ? textsOf(known.reasons[row]).join("; ") : "";
}

function reasons(metric, shown, row) {
  return shown.flatMap((run) => {
    const text = reasonOf(metric, run, row);
    return text ? textBlock([[shown.length === 2 ? `${SHORT[run]}: ${text}` : text, ""]]) : [];
  });
}

// -- contexts, and which of them are gold

const GOLD = ["relevant", "gold", "relevant_ids", "gold_ids", "relevant_chunk_ids", "relevant_doc_ids", "gold_chunk_ids", "gold_doc_ids", "reference_contexts", "gold_contexts", "supporting_facts"];
const RETRIEVED = ["retrieved", "retrieved_ids", "retrieved_chunk_ids", "retrieved_doc_ids", "context_ids", "document_ids"];

function listOf(names, run, row) {
  const field = data.fields.find((known) => known.role === "other" && names.includes(known.title.toLowerCase().replace(/[ -]+/g, "_")));
  return field ? parsedList(textsOf(cellOf(field, run, row))) : [];
}

// A list may be several texts, or one text with a list or a dict of grades as JSON.
function parsedList(texts) {
  if (texts.length !== 1 || !/^[[{]/.test(texts[0].trim())) return texts;
  try {
    const parsed = JSON.parse(texts[0]);
    return (Array.isArray(parsed) ? parsed : Object.keys(parsed)).map(String);
  } catch {
    return texts;
  }
}

// For each context whether it is gold, by its id or its text; null if that is not known.
function goldOf(run, row, texts) {
  const gold = new Set(listOf(GOLD, run, row));
  if (!gold.size) return null;
  const ids = listOf(RETRIEVED, run, row);
  const byId = ids.length === texts.length && (ids.some((id) => gold.has(id)) || [...gold].every((entry) => !/\s/.test(entry)));
  const goldTexts = [...gold].filter((entry) => entry.length > 20);
  if (!byId && !goldTexts.length) return null;
  return texts.map((text, place) => (byId && gold.has(ids[place])) || goldTexts.some((entry) => text.includes(entry) || (text.length > 20 && entry.includes(text))));
}

function contexts(shown, row) {
  const field = fieldOf("contexts");
  if (!field) return [];
  const places = shown.map((run) => [cellOf(field, run, row)].flat().filter((place) => place >= 0));
  if (places.every((list) => !list.length)) return [];
  const blocks = shown.map((run, sideNumber) => {
    const other = places[1 - sideNumber] || [];
    const gold = goldOf(run, row, places[sideNumber].map((place) => data.texts[place]));
    const items = places[sideNumber].map((place, number_) => {
      const otherPlace = other.indexOf(place);
      const tag = otherPlace >= 0 ? element("p", { class: "hint" }, `also context ${otherPlace + 1} of ${SHORT[shown[1 - sideNumber]]}`) : null;
      const isGold = gold && gold[number_];
      return element("li", { class: isGold ? "gold" : "" }, isGold ? element("p", { class: "gold-mark" }, "★ gold") : null, ...textBlock([[data.texts[place], ""]]), tag);
    });
    const count = gold && items.length ? `${gold.filter(Boolean).length} of ${items.length} gold` : "";
    return side(SHORT[run], count, items.length ? [element("ol", {}, ...items)] : [element("p", { class: "state" }, "no contexts")]);
  });
  return [element("h3", {}, "Contexts"), element("div", { class: "sides" }, ...blocks)];
}

function others(shown, row) {
  const pairs = [];
  for (const field of data.fields) {
    if (field.role !== "other") continue;
    const runs = field.shared ? [shown[0]] : shown;
    for (const run of runs) {
      const texts = textsOf(cellOf(field, run, row));
      if (!texts.length) continue;
      const title = field.shared || shown.length === 1 ? field.title : `${field.title}, ${SHORT[run]}`;
      pairs.push(element("dt", {}, title), element("dd", {}, ...textBlock([[texts.join("\n"), ""]])));
    }
  }
  return pairs.length ? [element("h3", {}, "Other details"), element("dl", {}, ...pairs)] : [];
}
