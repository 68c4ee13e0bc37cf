/* The controls of the graph page: panel, search, legend and keyboard. */

/* exported choose, found, hover, room, run */
/* global $, CREATED, LABEL, PATH, SCOPE, STATUS, TYPE, byDegree, calm, canvas, dark, draw,
   fit, joined, kinds, large, layout, links, light, lower, many, max, move, nodes, number, redraw, shown,
   tone, types, view, visible, x, y, zoom */
/* global centred:writable, chosen:writable, focused:writable, found:writable, height:writable,
   hover:writable, touched:writable, width:writable */

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
  hover = -1;
  if (i < 0) focused = false;
  const panel = $("panel");
  const inside = panel.contains(document.activeElement);
  panel.hidden = i < 0;
  panel.replaceChildren();
  if (i >= 0) {
    const node = nodes[i];
    const kind = make("p", " " + types[node[TYPE]][0]);
    kind.prepend(dot(node[TYPE]));
    if (node[STATUS] && node[STATUS] !== "active") kind.append(", " + node[STATUS]);
    for (const more of [node[SCOPE], node[CREATED]]) if (more) kind.append(" · ", make("bdi", more));
    panel.append(make("h2", node[LABEL], { dir: "auto" }), kind);
    const path = make("p");
    path.append(node[PATH] ? make("code", node[PATH], { dir: "auto" }) : "It has no note.");
    panel.append(path);
    if (joined[i].length) panel.append(focusButton());
    const close = make("button", "×", {
      class: "close",
      type: "button",
      "aria-label": "Close",
    });
    close.addEventListener("click", () => choose(-1));
    panel.append(close, ...neighbours(i));
    tell(`${node[LABEL]}, ${types[node[TYPE]][0]}, ${many(joined[i].length, "link")}`);
    if (focused) fit();
    else if (centre) look(i);
  }
  if (inside) canvas.focus();
  redraw(focused);
}

/* Hides all but the selected node and its neighbours, and shows them again. */
function focusButton() {
  const words = () => (focused ? "Show the whole graph" : "Show only its links");
  const button = make("button", words(), { class: "wide", type: "button" });
  button.addEventListener("click", () => {
    isolate(!focused);
    button.textContent = words();
  });
  return button;
}

function isolate(on) {
  focused = on;
  fit();
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
    const heading = name === "relation" ? (out ? label : `Named as ${label} by`) : words[name][out ? 0 : 1];
    if (!under.has(heading)) under.set(heading, new Set());
    under.get(heading).add(out ? t : s);
  }
  if (!under.size) return [make("h3", "It has no links.")];
  return [...under].flatMap(([heading, many]) => {
    const list = make("ul");
    const sorted = [...many].sort((a, b) => inOrder.compare(nodes[a][LABEL], nodes[b][LABEL]));
    for (const other of sorted.slice(0, 200)) {
      const button = make("button", "", { type: "button" });
      button.append(dot(nodes[other][TYPE]), make("span", nodes[other][LABEL], { dir: "auto" }));
      button.addEventListener("click", () => choose(other, true));
      button.addEventListener("pointerenter", light(other));
      button.addEventListener("pointerleave", light(-1));
      const item = make("li");
      item.append(button);
      list.append(item);
    }
    if (sorted.length > 200) list.append(make("li", manyMore(sorted.length - 200)));
    const title = make("h3");
    title.append(make("bdi", heading), ` (${number.format(many.size)})`);
    return [title, list];
  });
}

const inOrder = new Intl.Collator();
const manyMore = n => `… and ${number.format(n)} more`;

/* What the cards leave free of the window: the panel is on the right, or on narrow ones below. */
function room() {
  const side = document.querySelector("header").getBoundingClientRect();
  const panel = $("panel").getBoundingClientRect();
  const narrow = width <= 640;
  return {
    left: narrow ? 30 : width > 900 ? side.right + 50 : 50,
    right: narrow || $("panel").hidden ? width - (narrow ? 30 : 50) : panel.left - 50,
    top: narrow ? side.bottom + 20 : 40,
    bottom: narrow && !$("panel").hidden ? panel.top - 30 : height - (narrow ? 120 : 60),
  };
}

/* Brings a node to the middle of what is free. */
function look(i) {
  const { left, right, top, bottom } = room();
  const [px, py] = [(left + right) / 2, (top + bottom) / 2];
  view.k = max(view.k, 0.9);
  view.x = px - x[i] * view.k;
  view.y = py - y[i] * view.k;
  touched = true;
  centred = i;
  redraw();
}

/* ---------------------------------------------------------------------- search */

const MOST_RESULTS = 50;
let active = -1;
const search = $("search");
const results = $("results");

function findNodes() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = byDegree.filter(i => visible[i] && words.every(word => lower[i].includes(word)));
  found = words.length ? new Set(hits) : null;
  results.replaceChildren();
  active = -1;
  for (const i of words.length ? hits.slice(0, MOST_RESULTS) : []) {
    const item = make("li", "", { role: "option", id: "r" + i, "aria-selected": "false" });
    item.append(dot(nodes[i][TYPE]), make("span", nodes[i][LABEL], { dir: "auto" }));
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
  redraw(false);
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

/* -------------------------------------------------------------------- filters */

const hiddenTypes = new Set();
const chips = types.map(([name], type) => {
  const button = make("button", name, { type: "button" });
  button.prepend(dot(type));
  button.append(make("b"));
  button.addEventListener("click", event => {
    const others = types.map((_, other) => other).filter(other => other !== type);
    if (event.shiftKey) {
      const only = !hiddenTypes.has(type) && others.every(other => hiddenTypes.has(other));
      hiddenTypes.clear();
      if (!only) others.forEach(other => hiddenTypes.add(other));
    } else if (!hiddenTypes.delete(type)) hiddenTypes.add(type);
    filter();
  });
  const item = make("li");
  item.append(button);
  $("legend").append(item);
  return button;
});

/* A node without a scope or a date is shown with those that link to it. */
const matching = () => {
  const scope = $("scope").value;
  const [from, to] = $("time").value.split(" ");
  const inside = ([, , , its, created]) =>
    (!scope || its === scope) && (!from || (created >= from && created <= to));
  const own = i => !(nodes[i][SCOPE] || nodes[i][CREATED]);
  const fits = nodes.map(inside);
  return i => fits[i] || (own(i) && joined[i].some(([s, t]) => fits[s] || fits[t]));
};

function filter() {
  const fits = matching();
  const counts = types.map(() => 0);
  for (let i = 0; i < nodes.length; i += 1) {
    const type = nodes[i][TYPE];
    visible[i] = 0;
    if (!fits(i)) continue;
    counts[type] += 1;
    visible[i] = hiddenTypes.has(type) ? 0 : 1;
  }
  chips.forEach((chip, type) => {
    chip.setAttribute("aria-pressed", String(!hiddenTypes.has(type)));
    chip.querySelector("b").textContent = number.format(counts[type]);
    chip.parentElement.hidden = !counts[type];
  });
  document.querySelector("nav").hidden = !counts.some(Boolean);
  if (chosen >= 0 && !visible[chosen]) choose(-1);
  findNodes();
  redraw();
  summarize();
}

function summarize() {
  const drawn = links.filter(([s, t]) => visible[s] && visible[t]).length;
  const count = visible.reduce((sum, one) => sum + one, 0);
  const some = count < nodes.length ? `${number.format(count)} of ` : "";
  const words = [`${some}${many(nodes.length, "node")}, ${many(drawn, "link")}.`];
  if (running) words.push("Arranging…");
  if (!nodes.length) words.splice(0, 1, "There is nothing to draw yet.");
  $("summary").textContent = words.join(" ");
}

/* Fills a filter; one that could not narrow anything is not shown. */
function offer(select, all, options) {
  select.replaceChildren(new Option(all, ""), ...options.map(each => new Option(...each)));
  select.hidden = options.length < 2;
  select.addEventListener("change", () => {
    filter();
    fit();
  });
}

const scopes = [...new Set(nodes.map(n => n[SCOPE]).filter(Boolean))].sort();
offer($("scope"), "All scopes", scopes.map(scope => [scope, scope]));
offer($("time"), "Any time", times());

/* The spans of time that hold some of the facts, but not all: the newest ones, then years. */
function times() {
  const days = nodes.map(n => n[CREATED]).filter(Boolean).sort();
  if (!days.length) return [];
  const newest = days[days.length - 1];
  const back = count => new Date(Date.parse(newest) - count * 864e5).toISOString().slice(0, 10);
  const years = [...new Set(days.map(day => day.slice(0, 4)))].reverse();
  const spans = [
    ["Newest 7 days", `${back(6)} ${newest}`],
    ["Newest 30 days", `${back(29)} ${newest}`],
    ...years.map(year => [year, `${year} ${year}-12-31`]),
  ];
  return spans.filter(([, span]) => {
    const [from, to] = span.split(" ");
    return days.some(day => day < from || day > to);
  });
}

/* ------------------------------------------------------------------------ keys */

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
  f: () => {
    const button = $("panel").querySelector(".wide");
    if (button) button.click();
  },
  "/": () => search.focus(),
  Escape: () => ($("keys").hidden ? leave() : help()),
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
  if (event.key !== "Escape" || event.defaultPrevented) return;
  if (!$("keys").hidden) help();
  else if ($("panel").contains(document.activeElement)) leave();
});

/* One step back: from the neighbours of a node to the graph, then to no selection. */
function leave() {
  if (!focused) return choose(-1);
  isolate(false);
  choose(chosen);
}

function help() {
  $("keys").hidden = !$("keys").hidden;
  $("help").setAttribute("aria-expanded", String(!$("keys").hidden));
}
$("help").addEventListener("click", help);
$("in").addEventListener("click", () => zoom(1.3));
$("out").addEventListener("click", () => zoom(1 / 1.3));
$("fit").addEventListener("click", fit);
/* A printer gets the light page: ink on white. */
let before = "";
addEventListener("beforeprint", () => {
  before = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
  colours();
  draw();
});
addEventListener("afterprint", () => {
  if (before) document.documentElement.dataset.theme = before;
  else delete document.documentElement.dataset.theme;
  colours();
});
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
  for (const name of ["ground", "text", "soft", "strong"]) {
    canvas.style.color = `var(--${name})`;
    tone[name] = getComputedStyle(canvas).color;
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
  let last = performance.now();
  let moved = false;
  const tick = () => {
    const now = performance.now();
    running = !layout.run(now + (large ? 32 : 14));
    moved = moved || layout.moved;
    // A large picture takes long to draw, and nobody sees what changes within a moment.
    const due = now - last > (large ? nodes.length / 10 : 15) && !calm.matches;
    if (!running || (moved && due)) {
      last = now;
      moved = false;
      if (!touched) fit();
      else if (centred >= 0) look(centred);
      redraw();
    }
    if (running) requestAnimationFrame(tick);
    else summarize();
  };
  requestAnimationFrame(tick);
}

/* Most graphs come to rest before they are seen. */
running = large || !layout.run(performance.now() + 250);
colours();
resize();
filter();
if (running) {
  running = false;
  run();
}
summarize();
