/* The controls of the graph page: panel, search, legend and keyboard. */

/* exported choose, found, hover, run */
/* global $, CREATED, LABEL, PATH, STATUS, TYPE, byDegree, calm, canvas, dark, fit, hiddenTypes,
   joined, kinds, layout, links, lower, many, move, nodes, number, redraw, shown, tone, types,
   view, x, y, zoom */
/* global chosen:writable, found:writable, height:writable, hover:writable, touched:writable,
   width:writable */

/* ----------------------------------------------------------------------- panel */

function make(tag, text, give = {}) {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  for (const [name, value] of Object.entries(give)) element.setAttribute(name, value);
  return element;
}

function dot(type) {
  const element = make("span", "", { class: "dot" });
  element.style.backgroundColor = types[type][1];
  return element;
}

function choose(i, centre = false) {
  chosen = i;
  const panel = $("panel");
  panel.hidden = i < 0;
  panel.replaceChildren();
  if (i >= 0) {
    const node = nodes[i];
    const kind = make("p", " " + types[node[TYPE]][0]);
    kind.prepend(dot(node[TYPE]));
    if (node[STATUS] && node[STATUS] !== "active") kind.append(", " + node[STATUS]);
    if (node[CREATED]) kind.append(", " + node[CREATED]);
    panel.append(make("h2", node[LABEL]), kind);
    const path = make("p");
    path.append(node[PATH] ? make("code", node[PATH]) : "It has no note.");
    panel.append(path);
    const close = make("button", "×", {
      class: "close",
      type: "button",
      "aria-label": "Close",
    });
    close.addEventListener("click", () => {
      choose(-1);
      canvas.focus();
    });
    panel.append(close, ...neighbours(i));
    tell(`${node[LABEL]}, ${types[node[TYPE]][0]}, ${many(joined[i].length, "link")}`);
    if (centre) look(i);
  }
  redraw();
}

/* Has a screen reader say something: of the panel, it would read every link. */
function tell(words) {
  $("told").textContent = words;
}

/* The neighbours of a node, grouped by the kind of edge. */
function neighbours(i) {
  const words = {
    mentions: ["Mentions", "Mentioned by"],
    related: ["Related to", "Related to"],
    supersedes: ["Replaces", "Replaced by"],
    follows: ["Follows up", "Followed up by"],
  };
  const under = new Map();
  for (const [s, t, kind, label] of joined[i]) {
    const out = s === i;
    const name = kinds[kind];
    const heading = name === "relation" ? (out ? label : label + " of") : words[name][out ? 0 : 1];
    if (!under.has(heading)) under.set(heading, new Set());
    under.get(heading).add(out ? t : s);
  }
  if (!under.size) return [make("h3", "It has no links.")];
  return [...under].flatMap(([heading, many]) => {
    const list = make("ul");
    const sorted = [...many].sort((a, b) => inOrder.compare(nodes[a][LABEL], nodes[b][LABEL]));
    for (const other of sorted.slice(0, 200)) {
      const button = make("button", nodes[other][LABEL], { type: "button" });
      button.prepend(dot(nodes[other][TYPE]));
      button.addEventListener("click", () => choose(other, true));
      button.addEventListener("pointerenter", () => {
        hover = other;
        redraw();
      });
      button.addEventListener("pointerleave", () => {
        hover = -1;
        redraw();
      });
      const item = make("li");
      item.append(button);
      list.append(item);
    }
    if (sorted.length > 200) list.append(make("li", manyMore(sorted.length - 200)));
    return [make("h3", `${heading} (${number.format(many.size)})`), list];
  });
}

const inOrder = new Intl.Collator();
const manyMore = n => `… and ${number.format(n)} more`;

/* Brings a node to the middle of what the panel leaves free: it is on the right, or below. */
function look(i) {
  const panel = $("panel").getBoundingClientRect();
  const top = document.querySelector("header").getBoundingClientRect().bottom;
  let [px, py] = [width / 2, height / 2];
  if (panel.top > top) py = (top + panel.top) / 2;
  else if (panel.left < px + 60) px = panel.left / 2;
  view.k = Math.max(view.k, 0.9);
  view.x = px - x[i] * view.k;
  view.y = py - y[i] * view.k;
  touched = true;
  redraw();
}

/* ---------------------------------------------------------------------- search */

const MOST_RESULTS = 50;
let active = -1;
const search = $("search");
const results = $("results");

function findNodes() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = byDegree.filter(i => shown(i) && words.every(word => lower[i].includes(word)));
  found = words.length ? new Set(hits) : null;
  results.replaceChildren();
  active = -1;
  for (const i of words.length ? hits.slice(0, MOST_RESULTS) : []) {
    const item = make("li", nodes[i][LABEL], { role: "option", id: "r" + i });
    item.prepend(dot(nodes[i][TYPE]), " ");
    item.append(make("small", types[nodes[i][TYPE]][0]));
    item.addEventListener("pointerdown", event => {
      event.preventDefault();
      pick(i);
    });
    results.append(item);
  }
  if (words.length && !hits.length) results.append(make("li", "Nothing found."));
  if (words.length && hits.length > MOST_RESULTS) {
    results.append(make("li", manyMore(hits.length - MOST_RESULTS)));
  }
  tell(words.length ? many(hits.length, "result") : "");
  results.hidden = !words.length;
  search.setAttribute("aria-expanded", String(!results.hidden));
  search.removeAttribute("aria-activedescendant");
  redraw();
}

function pick(i) {
  search.value = "";
  findNodes();
  choose(i, true);
  canvas.focus();
}

function step(by) {
  const items = [...results.querySelectorAll("[role=option]")];
  if (!items.length) return;
  active = (active + by + items.length) % items.length;
  items.forEach((item, at) => item.setAttribute("aria-selected", String(at === active)));
  items[active].scrollIntoView({ block: "nearest" });
  search.setAttribute("aria-activedescendant", items[active].id);
}

search.addEventListener("input", findNodes);
search.addEventListener("keydown", event => {
  if (event.key === "ArrowDown") step(1);
  else if (event.key === "ArrowUp") step(-1);
  else if (event.key === "Escape") {
    search.value = "";
    findNodes();
    canvas.focus();
  } else if (event.key === "Enter") {
    const item = results.querySelector("[aria-selected=true]") || results.querySelector("[id]");
    if (item) pick(Number(item.id.slice(1)));
  } else return;
  event.preventDefault();
});

/* ------------------------------------------------------------- legend and keys */

types.forEach(([name], type) => {
  const button = make("button", name, { type: "button", "aria-pressed": "true" });
  button.prepend(dot(type));
  button.append(make("b", number.format(nodes.filter(n => n[TYPE] === type).length)));
  button.addEventListener("click", () => {
    const hide = !hiddenTypes.has(type);
    if (hide) hiddenTypes.add(type);
    else hiddenTypes.delete(type);
    button.setAttribute("aria-pressed", String(!hide));
    if (chosen >= 0 && !shown(chosen)) choose(-1);
    findNodes();
  });
  const item = make("li");
  item.append(button);
  $("legend").append(item);
});

/* Moves from node to node by degree; without a selected one, to the first or the last. */
function walk(by) {
  const at = chosen < 0 && by < 0 ? 0 : byDegree.indexOf(chosen);
  const count = byDegree.length;
  for (let turn = 1; turn <= count; turn += 1) {
    const next = byDegree[(at + by * turn + count * 2) % count];
    if (shown(next)) {
      choose(next, true);
      return;
    }
  }
}

const KEYS = {
  ArrowLeft: () => move(60, 0),
  ArrowRight: () => move(-60, 0),
  ArrowUp: () => move(0, 60),
  ArrowDown: () => move(0, -60),
  "+": () => zoom(1.25),
  "=": () => zoom(1.25),
  "-": () => zoom(0.8),
  0: fit,
  n: () => walk(1),
  p: () => walk(-1),
  "/": () => search.focus(),
  Escape: () => choose(-1),
  Enter: () => {
    const first = $("panel").querySelector("li button");
    if (first) first.focus();
  },
};
canvas.addEventListener("keydown", event => {
  const act = KEYS[event.key];
  if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act();
});
document.addEventListener("keydown", event => {
  if (event.key !== "Escape" || !$("panel").contains(document.activeElement)) return;
  choose(-1);
  canvas.focus();
});
$("in").addEventListener("click", () => zoom(1.3));
$("out").addEventListener("click", () => zoom(1 / 1.3));
$("fit").addEventListener("click", fit);
$("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  colours();
});
dark.addEventListener("change", () => colours());

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : dark.matches;
}

function colours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["ground", "text", "soft", "strong"]) {
    tone[name] = style.getPropertyValue("--" + name).trim();
  }
  $("theme").textContent = isDark() ? "Light" : "Dark";
  redraw();
}

function resize() {
  const scale = window.devicePixelRatio || 1;
  const shift = [innerWidth - width, innerHeight - height];
  if (touched && width) {
    view.x += shift[0] / 2;
    view.y += shift[1] / 2;
  }
  width = innerWidth;
  height = innerHeight;
  canvas.width = width * scale;
  canvas.height = height * scale;
  if (touched) redraw();
  else fit();
}
addEventListener("resize", resize);

/* ----------------------------------------------------------------------- begin */

let running = false;
function run() {
  if (running || !nodes.length) return;
  running = true;
  const tick = () => {
    const until = performance.now() + 14;
    let rest = false;
    do rest = layout.step();
    while (!rest && performance.now() < until && nodes.length > 300);
    if (rest || !calm.matches) {
      if (!touched) fit();
      redraw();
    }
    running = !rest;
    if (running) requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}

const loose = nodes.length ? "" : " There is nothing to draw yet.";
$("summary").textContent = `${many(nodes.length, "node")}, ${many(links.length, "link")}.${loose}`;
colours();
resize();
run();
