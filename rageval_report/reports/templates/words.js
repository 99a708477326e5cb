"use strict";

// Texts are shown as text, never as markup. Elements are created here and nowhere else.

function element(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const SVG = "http://www.w3.org/2000/svg";

function drawing(name, attributes, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// Characters that could move or hide other text: controls, marks of direction, halves of characters.
const UNSEEN = /[\p{Cs}\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

function appendText(parent, text) {
  let done = 0;
  for (const match of text.matchAll(UNSEEN)) {
    if (match.index > done) parent.append(text.slice(done, match.index));
    const code = match[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    parent.append(element("span", { class: "code-point" }, `U+${code}`));
    done = match.index + match[0].length;
  }
  if (done < text.length) parent.append(done ? text.slice(done) : text);
}

const LONG = 1500;

// Pieces are [text, mark] where mark is the name of an element, or "". Of a long text only the
// beginning is shown, with a button for the rest.
function textBlock(pieces, name = "p") {
  const length = pieces.reduce((sum, piece) => sum + piece[0].length, 0);
  const block = element(name, { class: "text", dir: "auto" });
  const fill = (most) => {
    block.replaceChildren();
    let room = most;
    for (const [text, mark] of pieces) {
      if (room <= 0) break;
      const shown = text.length > room ? text.slice(0, room) : text;
      const place = mark ? block.appendChild(element(mark)) : block;
      appendText(place, shown);
      room -= shown.length;
    }
    if (length > most) block.append("…");
  };
  fill(length > LONG * 1.2 ? LONG : length);
  if (length <= LONG * 1.2) return [block];
  const more = element("button", {
    type: "button", class: "more",
    onclick: () => { fill(length); more.remove(); },
  }, `Show all ${length.toLocaleString("en")} characters`);
  return [block, more];
}

// -- the differences of two texts, word by word

const WORD = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}])[\p{L}\p{M}\p{N}_])+|[^\s\p{L}\p{M}\p{N}_]/gu;
const MOST_CELLS = 4e6;

function wordsOf(text) {
  return Array.from(text.matchAll(WORD), (match) => ({ start: match.index, end: match.index + match[0].length, word: match[0] }));
}

// Which words of each text belong to the longest common sequence. Between the equal beginnings and
// ends of texts that are too long for the table, all words count as different.
function commonWords(left, right) {
  const same = [new Uint8Array(left.length), new Uint8Array(right.length)];
  let first = 0;
  let lasts = [left.length, right.length];
  while (first < lasts[0] && first < lasts[1] && left[first].word === right[first].word) {
    same[0][first] = same[1][first] = 1;
    first += 1;
  }
  while (lasts[0] > first && lasts[1] > first && left[lasts[0] - 1].word === right[lasts[1] - 1].word) {
    lasts = [lasts[0] - 1, lasts[1] - 1];
    same[0][lasts[0]] = same[1][lasts[1]] = 1;
  }
  const rows = lasts[0] - first;
  const columns = lasts[1] - first;
  if (!rows || !columns || rows * columns > MOST_CELLS) return same;
  const width = columns + 1;
  const longest = new Uint32Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; i -= 1) {
    for (let j = columns - 1; j >= 0; j -= 1) {
      longest[i * width + j] = left[first + i].word === right[first + j].word
        ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  for (let i = 0, j = 0; i < rows && j < columns;) {
    if (left[first + i].word === right[first + j].word) {
      same[0][first + i] = same[1][first + j] = 1;
      i += 1;
      j += 1;
    } else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return same;
}

function marked(text, words, same, mark) {
  const pieces = [];
  let done = 0;
  for (let i = 0; i < words.length;) {
    if (same[i]) {
      i += 1;
      continue;
    }
    const start = words[i].start;
    let end = words[i].end;
    while (i < words.length && !same[i]) {
      end = words[i].end;
      i += 1;
    }
    if (start > done) pieces.push([text.slice(done, start), ""]);
    pieces.push([text.slice(start, end), mark]);
    done = end;
  }
  if (done < text.length) pieces.push([text.slice(done), ""]);
  return pieces;
}

function differences(left, right) {
  if (left === right) return [[[left, ""]], [[right, ""]]];
  const words = [wordsOf(left), wordsOf(right)];
  const same = commonWords(words[0], words[1]);
  return [marked(left, words[0], same[0], "del"), marked(right, words[1], same[1], "ins")];
}
