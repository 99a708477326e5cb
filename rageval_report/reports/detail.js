// -- numbers as texts

function number(value) {
  const size = Math.abs(value);
  if (size === 0 || size < NOISE) return "0.000";
  if (size < 0.001) return String(Number(value.toPrecision(2)));
  return value.toFixed(size < 9.9995 ? 3 : size < 99.995 ? 2 : size < 999.95 ? 1 : 0);
}

function scoreParts(metric, run, row) {
  const known = metric.runs[run];
  const score = known ? known.scores[row] : NaN;
  if (!Number.isNaN(score)) return [number(score)];
  return [element("span", { class: "state" }, (known && known.states.get(row)) || "missing")];
}

function changeParts(metric, row) {
  const value = change(metric, row);
  if (Number.isNaN(value)) return ["–"];
  if (value === 0) return ["0.000"];
  const better = value > 0 === metric.up;
  return [
    element("span", { class: better ? "better" : "worse" },
      `${value > 0 ? "+" : ""}${number(value)} `,
      element("span", { "aria-hidden": "true" }, better ? "▲" : "▼"),
      element("span", { class: "unseen" }, better ? " better" : " worse")),
  ];
}

// -- the columns of the table

function columns() {
  const shownColumns = [{ key: "query", title: "Query", value: (row) => data.ids[row], cell: () => [] }];
  if (fieldOf("question")) {
    const first = (row) => RUNS.map((_, run) => cellOf(fieldOf("question"), run, row)).find((cell) => cell !== -1);
    const text = (row) => textsOf(first(row) ?? -1).join(" ");
    shownColumns.push({ key: "question", kind: "long", title: "Question", value: text, cell: (row) => [clampedText(text(row))] });
  }
  const labels = outcome();
  if (labels) {
    shownColumns.push({ key: "outcome", kind: "label", title: IS_COMPARISON ? "Outcome" : "Answer", value: (row) => labels.codes[row], cell: (row) => [labels.levels[labels.codes[row]]] });
  }
  const sides = IS_COMPARISON ? [BASELINE, state.with] : [BASELINE];
  for (const run of sides) {
    if (!causes[run]) continue;
    const name = (row) => causes[run].levels[causes[run].codes[row]];
    shownColumns.push({
      key: `cause.${RUNS[run]}`, kind: "cause", title: IS_COMPARISON ? `Cause, ${RUNS[run]}` : "Cause",
      value: (row) => (NO_FAILURE.has(name(row)) ? "" : name(row)), cell: (row) => [NO_FAILURE.has(name(row)) ? "–" : name(row)],
    });
  }
  return [...shownColumns, ...(IS_COMPARISON ? comparedColumns(metrics[state.metric], sides) : metrics.map((metric) => scoreColumn(metric, BASELINE, metric.title)))];
}

function scoreColumn(metric, run, title) {
  const known = metric.runs[run];
  return {
    key: `${metric.name}.${RUNS[run]}`, kind: "number", title,
    value: (row) => (known ? known.scores[row] : NaN), cell: (row) => scoreParts(metric, run, row),
  };
}

function comparedColumns(metric, sides) {
  if (!metric) return [];
  const changeColumn = { key: `${metric.name}.change`, kind: "number", title: "Change", value: (row) => change(metric, row), cell: (row) => changeParts(metric, row) };
  return [...sides.map((run) => scoreColumn(metric, run, RUNS[run])), changeColumn];
}

function clampedText(text) {
  const block = element("span", { class: "clamp", dir: "auto" });
  appendText(block, text.length > 240 ? `${text.slice(0, 240)}…` : text);
  return block;
}

// -- a row that is open

function detailOf(row) {
  const sides = IS_COMPARISON ? [BASELINE, state.with] : [BASELINE];
  return [
    ...textSection("Question", fieldOf("question"), sides, row),
    ...textSection("Reference", fieldOf("reference"), sides, row),
    ...answers(sides, row),
    ...scoreTable(sides, row),
    ...contexts(sides, row),
    ...others(sides, row),
  ];
}

function textSection(title, field, sides, row) {
  if (!field) return [];
  const cells = sides.map((run) => textsOf(cellOf(field, run, row)));
  if (cells.every((texts) => !texts.length)) return [];
  if (field.shared || sides.length === 1 || cells[0].join() === cells[1].join()) return [element("h3", {}, title), ...cells[0].flatMap((text) => textBlock([[text, ""]]))];
  return [element("h3", {}, title), element("div", { class: "sides" }, ...sides.map((run, place) => side(RUNS[run], "", cells[place].flatMap((text) => textBlock([[text, ""]])))))];
}

function side(name, tag, content) {
  return element("div", { class: "side" }, element("h4", {}, element("bdi", {}, name), tag ? element("span", { class: "tag" }, ` · ${tag}`) : null), ...content);
}

const LONGEST_COMPARED = 4e5;

function answers(sides, row) {
  const field = fieldOf("answer");
  if (!field) return [];
  const texts = sides.map((run) => textsOf(cellOf(field, run, row)).join("\n"));
  if (texts.every((text) => !text)) return [];
  const both = sides.length === 2 && texts[0] && texts[1];
  const tooLong = both && texts[0].length + texts[1].length > LONGEST_COMPARED;
  const pieces = both && !tooLong ? differences(...texts) : texts.map((text) => [[text, ""]]);
  const blocks = sides.map((run, place) => side(RUNS[run], answerTag(run, row), texts[place] ? textBlock(pieces[place]) : [element("p", { class: "state" }, "no answer")]));
  const equal = both && texts[0] === texts[1];
  const hint = equal ? "Both answers are the same." : tooLong ? "The answers are too long to mark their differences." : both ? "Struck through: only in the first answer. Underlined: only in the second." : "";
  return [element("h3", {}, sides.length === 2 ? "Answers" : "Answer"), element("div", { class: "sides" }, ...blocks), hint ? element("p", { class: "hint" }, hint) : null].filter(Boolean);
}

function answerTag(run, row) {
  const cause = causes[run] && causes[run].levels[causes[run].codes[row]];
  const tags = [];
  if (!IS_COMPARISON && outcome()) tags.push(outcome().levels[outcome().codes[row]]);
  if (cause && !NO_FAILURE.has(cause)) tags.push(`${cause}: ${data.meaning[cause]}`);
  return tags.join(", ");
}

function scoreTable(sides, row) {
  if (!metrics.length) return [];
  const hasReasons = metrics.some((metric) => sides.some((run) => reasonOf(metric, run, row)));
  const heads = ["Metric", ...(sides.length === 2 ? [...sides.map((run) => RUNS[run]), "Change"] : ["Score"]), ...(hasReasons ? ["Reason"] : [])];
  const head = element("tr", {}, ...heads.map((title, place) => element("th", { scope: "col", class: place && title !== "Reason" ? "number" : "" }, title)));
  const body = metrics.map((metric) => element("tr", {},
    element("th", { scope: "row" }, metric.title + (metric.up ? "" : " (lower is better)")),
    ...sides.map((run) => element("td", { class: "number" }, ...scoreParts(metric, run, row))),
    ...(sides.length === 2 ? [element("td", { class: "number" }, ...changeParts(metric, row))] : []),
    ...(hasReasons ? [element("td", {}, ...reasons(metric, sides, row))] : [])));
  return [element("h3", {}, "Scores"), element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Scores" }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)))];
}

function reasonOf(metric, run, row) {
  const known = metric.runs[run];
  return known && known.reasons ? textsOf(known.reasons[row]).join("; ") : "";
}

function reasons(metric, sides, row) {
  return sides.flatMap((run) => {
    const text = reasonOf(metric, run, row);
    return text ? textBlock([[sides.length === 2 ? `${RUNS[run]}: ${text}` : text, ""]]) : [];
  });
}

function contexts(sides, row) {
  const field = fieldOf("contexts");
  if (!field) return [];
  const places = sides.map((run) => [cellOf(field, run, row)].flat().filter((place) => place >= 0));
  if (places.every((list) => !list.length)) return [];
  const blocks = sides.map((run, sideNumber) => {
    const other = places[1 - sideNumber] || [];
    const items = places[sideNumber].map((place) => {
      const otherPlace = other.indexOf(place);
      const tag = otherPlace >= 0 ? element("p", { class: "hint" }, `also context ${otherPlace + 1} of ${RUNS[sides[1 - sideNumber]]}`) : null;
      return element("li", {}, ...textBlock([[data.texts[place], ""]]), tag);
    });
    return side(RUNS[run], "", items.length ? [element("ol", {}, ...items)] : [element("p", { class: "state" }, "no contexts")]);
  });
  return [element("h3", {}, "Contexts"), element("div", { class: "sides" }, ...blocks)];
}

function others(sides, row) {
  const pairs = [];
  for (const field of data.fields) {
    if (field.role !== "other") continue;
    const runs = field.shared ? [sides[0]] : sides;
    for (const run of runs) {
      const texts = textsOf(cellOf(field, run, row));
      if (!texts.length) continue;
      const title = field.shared || sides.length === 1 ? field.title : `${field.title}, ${RUNS[run]}`;
      pairs.push(element("dt", {}, title), element("dd", {}, ...textBlock([[texts.join("\n"), ""]])));
    }
  }
  return pairs.length ? [element("h3", {}, "Other details"), element("dl", {}, ...pairs)] : [];
}

