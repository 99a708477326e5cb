/* The order of search results: pages whose title has the words come first, and recipes before pages
   that mention everything. Sphinx's own marks, which are kept below, count single words only. */
"use strict";

const PLACES = [
  [/^(project\/|architecture|coverage|sequential|speed|notebooks\/|howto\/index)/, -8],
  [/^(howto\/|start$)/, 12],
  [/^(understand\/|which_test|gallery\/)/, 6],
  [/^reference\/commands\//, 4],
];

// The words of a text, without the s of a plural.
const wordsOf = (text) =>
  (text.toLowerCase().match(/[\p{L}\p{N}@_]+/gu) || []).map((word) => word.replace(/s$/, ""));

const titleShare = (title) => {
  const words = wordsOf(new URLSearchParams(window.location.search).get("q") || "");
  const titled = wordsOf(title);
  if (titled.join(" ") === words.join(" ")) return 2;
  // The first letters, so that "fails" finds "failing"; short words must be equal.
  const same = (a, b) => a === b || (a.length > 3 && b.length > 3 && a.slice(0, 4) === b.slice(0, 4));
  return words.filter((word) => titled.some((other) => same(word, other))).length / (words.length || 1);
};

var Scorer = {
  score: ([page, title, , , score]) => {
    const place = PLACES.find(([pattern]) => pattern.test(page));
    return score + 30 * titleShare(title) + (place ? place[1] : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
