/* Draws the graph and handles mouse and touch input. */

/* exported CREATED, SCOPE, STATUS, calm, centred, chosen, dark, fit, focused, found, height, large,
   light, lower, many, touched, width */
/* global abs, choose, floor, makeLayout, max, min, room, run, sqrt */

const graph = JSON.parse(document.getElementById("graph").textContent);
const [LABEL, TYPE, PATH, SCOPE, CREATED, STATUS] = [0, 1, 2, 3, 4, 5];
const { nodes, links, types, kinds } = graph;
const layout = makeLayout(nodes.length, links);
const { x, y, degree, radius, pinned } = layout;
const byDegree = nodes.map((_, i) => i).sort((a, b) => degree[b] - degree[a] || a - b);
const rank = new Int32Array(nodes.length);
byDegree.forEach((i, place) => (rank[i] = place));
const joined = nodes.map(() => []);
for (const link of links) {
  joined[link[0]].push(link);
  joined[link[1]].push(link);
}
const byTarget = types.map(() => []);
for (const link of links) byTarget[nodes[link[1]][TYPE]].push(link);
const ofType = types.map(() => []);
for (const i of [...byDegree].reverse()) ofType[nodes[i][TYPE]].push(i);
const lower = nodes.map(n =>
  [n[LABEL], types[n[TYPE]][0], n[PATH] || "", n[SCOPE]].join("\n").toLowerCase(),
);

const $ = id => document.getElementById(id);
const canvas = $("picture");
let pen = canvas.getContext("2d");
const view = { k: 1, x: 0, y: 0 };
const visible = new Uint8Array(nodes.length).fill(1);
const large = nodes.length > 1500;
let focused = false; // only the selected node and its neighbours are drawn
let hover = -1;
let chosen = -1;
let found = null;
let width = 0;
let height = 0;
let wanted = false;
let touched = false;
let centred = -1; // this node stays in the middle while all are arranged
const tone = {};
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const dark = matchMedia("(prefers-color-scheme: dark)");
const number = new Intl.NumberFormat("en");
const shown = i => visible[i] === 1 && (!focused || i === chosen || near(chosen).has(i));
const many = (n, word) => `${number.format(n)} ${word}${n === 1 ? "" : "s"}`;

/* The neighbours of a node, remembered for the last one that was asked for. */
function near(i) {
  if (near.of !== i) {
    near.of = i;
    near.all = new Set(i < 0 ? [] : joined[i].flatMap(([s, t]) => [s, t]));
  }
  return near.all;
}

/* ------------------------------------------------------------------ drawing */

const front = pen;
const sheet = document.createElement("canvas"); // the whole picture, until something moves
const sheetPen = sheet.getContext("2d");
let fresh = false;
let seen = view; // where the sheet was drawn
const FAINT = 0.15;
const MOST_EDGES = 6000; // with more, long edges are drawn faintly, so that clusters stand out

function draw() {
  wanted = false;
  if (!layout.placed) return;
  const scale = window.devicePixelRatio || 1;
  const at = hover >= 0 ? hover : chosen;
  const lit = at >= 0 ? near(at) : null;
  const bright = i => (lit ? i === at || lit.has(i) : !found || found.has(i));
  if (!fresh) {
    if (sheet.width !== canvas.width) sheet.width = canvas.width;
    if (sheet.height !== canvas.height) sheet.height = canvas.height;
    pen = sheetPen;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    edges();
    circles(() => true);
    fresh = true;
    seen = { ...view };
  }
  pen = front;
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.globalAlpha = 1;
  pen.fillStyle = tone.ground;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.globalAlpha = (lit || found) && !focused ? FAINT : 1;
  const grown = view.k / seen.k;
  const [left, top] = [view.x - seen.x * grown, view.y - seen.y * grown];
  pen.setTransform(grown, 0, 0, grown, left * scale, top * scale);
  pen.drawImage(sheet, 0, 0);
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  if (lit) for (const link of joined[at]) if (shown(link[0]) && shown(link[1])) arrow(link);
  if (lit || found) circles(bright);
  for (const i of new Set([chosen, hover])) {
    if (i < 0 || !shown(i)) continue;
    const [px, py, r] = place(i);
    pen.globalAlpha = 1;
    pen.lineWidth = 2;
    pen.strokeStyle = tone.strong;
    pen.beginPath();
    pen.arc(px, py, r + 2.5, 0, 2 * Math.PI);
    pen.stroke();
  }
  labels(at, bright);
}

function edges() {
  if (focused) return; // the lit ones are drawn as arrows
  const crowd = min(1, 22 / sqrt(links.length + 1));
  const alpha = 0.15 + 0.33 * crowd;
  const long = links.length > MOST_EDGES ? max(60, min(width, height) / 9) : Infinity;
  pen.lineWidth = min(1.2, max(0.35, view.k));
  byTarget.forEach((some, type) => {
    pen.strokeStyle = types[type][1];
    for (const far of long < Infinity ? [false, true] : [false]) {
      pen.globalAlpha = far ? alpha / 5 : alpha;
      pen.beginPath();
      for (const [s, t] of some) {
        if (!shown(s) || !shown(t)) continue;
        const dx = abs(x[s] - x[t]) * view.k;
        const dy = abs(y[s] - y[t]) * view.k;
        if (max(dx, dy) >= long === far && dx + dy > 1.5) line(s, t);
      }
      pen.stroke();
    }
  });
}

const MOST_CIRCLES = 100; // of one path: the time to fill it grows faster than the number

/* Draws some of the nodes; those without a note as rings. */
function circles(wanted) {
  pen.globalAlpha = 1;
  types.forEach(([name, colour], type) => {
    const ring = name === "unresolved";
    pen.fillStyle = ring && view.k > 0.25 ? tone.ground : colour;
    pen.strokeStyle = ring ? colour : tone.ground;
    pen.lineWidth = ring ? 1.6 : 1.2;
    let some = 0;
    const paint = () => {
      pen.fill();
      if (view.k > 0.25) pen.stroke();
      pen.beginPath();
      some = 0;
    };
    pen.beginPath();
    for (const i of ofType[type]) {
      if (!wanted(i) || !shown(i)) continue;
      const [px, py, r] = place(i);
      if (px < -r || py < -r || px > width + r || py > height + r) continue;
      if (r < 1.4) pen.rect(px - r, py - r, 2 * r, 2 * r);
      else {
        pen.moveTo(px + r, py);
        pen.arc(px, py, r, 0, 2 * Math.PI);
      }
      some += 1;
      if (some === MOST_CIRCLES) paint();
    }
    paint();
  });
}

const place = i => [
  x[i] * view.k + view.x,
  y[i] * view.k + view.y,
  max(
    radius[i] * min(1, 0.5 + view.k * 0.5) * (view.k < 1 ? view.k ** 0.6 : sqrt(view.k)),
    least,
  ),
];
const least = min(1.3, max(0.7, 80 / sqrt(nodes.length)));

function line(s, t) {
  pen.moveTo(x[s] * view.k + view.x, y[s] * view.k + view.y);
  pen.lineTo(x[t] * view.k + view.x, y[t] * view.k + view.y);
}

function arrow([s, t, kind]) {
  const [x1, y1] = place(s);
  const [x2, y2, r] = place(t);
  const far = Math.hypot(x2 - x1, y2 - y1) || 1;
  const ux = (x2 - x1) / far;
  const uy = (y2 - y1) / far;
  const busy = joined[s].length + joined[t].length;
  pen.globalAlpha = 0.85 * min(1, 15 / sqrt(busy)); // or those of a hub would fill the picture
  pen.strokeStyle = pen.fillStyle = types[nodes[t][TYPE]][1];
  pen.lineWidth = busy > 100 ? 1 : 1.6;
  pen.setLineDash(kinds[kind] === "supersedes" ? [5, 4] : []);
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.lineTo(x2, y2);
  pen.stroke();
  pen.setLineDash([]);
  const ex = x2 - ux * (r + 2);
  const ey = y2 - uy * (r + 2);
  pen.beginPath();
  pen.moveTo(ex, ey);
  pen.lineTo(ex - ux * 8 - uy * 4, ey - uy * 8 + ux * 4);
  pen.lineTo(ex - ux * 8 + uy * 4, ey - uy * 8 - ux * 4);
  pen.fill();
}

function write(text, px, py, size, colour) {
  pen.globalAlpha = 1;
  pen.font = `${size}px system-ui, sans-serif`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.lineJoin = "round";
  pen.lineWidth = 3.5;
  pen.strokeStyle = tone.ground;
  pen.fillStyle = colour;
  pen.strokeText(text, px, py);
  pen.fillText(text, px, py);
}

const MOST_TRIES = 1000; // labels that are measured: where nothing fits, more take too long
const LANDMARKS = 28; // the nodes with the most links, named at any distance

/* Labels the most important nodes, as many as fit. */
function labels(at, bright) {
  const taken = new Map();
  const first = at >= 0 ? [at, ...near(at)] : [];
  let left = 160;
  let tries = MOST_TRIES;
  let marks = LANDMARKS;
  for (const i of byDegree.slice(0, 400)) {
    const [px, py, r] = place(i);
    if (r < 5 || !shown(i) || !bright(i)) continue;
    for (const cell of cells(px - r * 0.7, py - r * 0.7, px + r * 0.7, py + r * 0.7)) {
      taken.set(cell, i);
    }
  }
  const named = new Set();
  for (const i of [...first, ...byDegree]) {
    if (left === 0) break;
    if (named.has(i) || !shown(i) || !bright(i)) continue;
    const [px, py, r] = place(i);
    if (px < 0 || py < 0 || px > width || py > height) continue;
    tries -= 1;
    if (tries < 0) break;
    const close = at >= 0 || (found && found.has(i));
    const main = close || marks > 0;
    if (!main && r < 4.2) break;
    marks -= 1;
    const text = short(nodes[i][LABEL], 34);
    const size = i === at ? 13.5 : min(13, 10.5 + r / 8);
    pen.font = `${size}px system-ui, sans-serif`;
    const half = pen.measureText(text).width / 2 + 3;
    const below = py + r + size * 0.75;
    const above = py - r - size * 0.75;
    const lx = max(half + 2, min(width - half - 2, px));
    const box = (ly, more = 0) => cells(lx - half, ly - 7 - more, lx + half, ly + 7);
    const held = cell => (taken.get(cell) ?? i) !== i;
    const label = cell => taken.get(cell) === -1;
    // The most important ones may cover nodes, but not other labels.
    const over = close || rank[i] < 12;
    let ly = below;
    if (i !== at && box(below).some(over ? label : held)) {
      if (box(above, 12).some(held)) continue; // or it would seem to be of the node above it
      ly = above;
    }
    box(ly).forEach(cell => taken.set(cell, -1));
    named.add(i);
    write(text, lx, ly, size, i === at ? tone.strong : tone.text);
    left -= 1;
  }
  for (const [s, t, , label] of at >= 0 ? joined[at] : []) {
    if (!label || !shown(s) || !shown(t)) continue;
    const [[x1, y1], [x2, y2]] = [place(s), place(t)];
    const [lx, ly] = [(x1 + x2) / 2, (y1 + y2) / 2];
    const text = short(label, 24);
    pen.font = "11px system-ui, sans-serif";
    const half = pen.measureText(text).width / 2 + 3;
    const box = cells(lx - half, ly - 6, lx + half, ly + 6);
    if (Math.hypot(x2 - x1, y2 - y1) < 90 || box.some(cell => taken.has(cell))) continue;
    box.forEach(cell => taken.set(cell, -1));
    write(text, lx, ly, 11, tone.soft);
  }
}

/* The beginning of a text, isolated: it has a direction of its own. */
function short(text, most) {
  const letters = [...text.slice(0, 8 * most)];
  const whole = letters.length <= most ? letters : [...letters.slice(0, most - 1), "…"];
  return "\u2068" + whole.join("") + "\u2069";
}

/* The grid cells that a box covers. */
function cells(x1, y1, x2, y2) {
  const found = [];
  for (let cx = floor(x1 / 12); cx <= floor(x2 / 12); cx += 1) {
    for (let cy = floor(y1 / 12); cy <= floor(y2 / 12); cy += 1) {
      found.push(cx * 4096 + cy);
    }
  }
  return found;
}

/* Draws again: everything, or only what is selected when `all` is false. */
function redraw(all = true) {
  if (all) fresh = false;
  if (wanted) return;
  wanted = true;
  requestAnimationFrame(draw);
}

/* Draws again after the view moved. The picture of a large graph is moved as it is, and drawn
   again when the view has come to rest. */
function glide() {
  touched = true;
  centred = -1;
  redraw(!large);
  clearTimeout(glide.end);
  if (large) glide.end = setTimeout(redraw, 120);
}

/* ------------------------------------------------------------- moving and zooming */

function fit() {
  touched = false;
  let low = [Infinity, Infinity];
  let high = [-Infinity, -Infinity];
  for (let i = 0; i < nodes.length; i += 1) {
    if (!shown(i)) continue;
    low = [min(low[0], x[i] - radius[i]), min(low[1], y[i] - radius[i])];
    high = [max(high[0], x[i] + radius[i]), max(high[1], y[i] + radius[i])];
  }
  if (low[0] > high[0]) return;
  const { left, right, top, bottom } = room();
  const wide = right - left;
  const tall = bottom - top;
  const k = min(wide / (high[0] - low[0]), tall / (high[1] - low[1]), 2.2);
  view.k = k;
  view.x = (left + right) / 2 - ((low[0] + high[0]) / 2) * k;
  view.y = (top + bottom) / 2 - ((low[1] + high[1]) / 2) * k;
  redraw();
}

function zoom(by, px = width / 2, py = height / 2) {
  const k = min(12, max(0.02, view.k * by));
  view.x = px - ((px - view.x) * k) / view.k;
  view.y = py - ((py - view.y) * k) / view.k;
  view.k = k;
  glide();
}

function move(dx, dy) {
  view.x += dx;
  view.y += dy;
  glide();
}

/* The node at a point, or the nearest one within some pixels. */
function under(px, py, within = 5) {
  let best = -1;
  let least = within;
  for (let i = 0; i < nodes.length; i += 1) {
    const dx = x[i] * view.k + view.x - px;
    const dy = y[i] * view.k + view.y - py;
    if (abs(dx) > 60 || abs(dy) > 60 || !shown(i)) continue;
    const far = Math.hypot(dx, dy) - place(i)[2];
    if (far < least) {
      best = i;
      least = far;
    }
  }
  return best;
}

const light = i => () => {
  hover = i;
  redraw(false);
};
const fingers = new Map();
let held = null;
canvas.addEventListener("pointerdown", event => {
  if (event.button > 0) return;
  canvas.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, [event.clientX, event.clientY]);
  const within = event.pointerType === "touch" ? 14 : 5;
  // A second finger zooms: neither of them selects or holds a node any more.
  if (held && held.node >= 0) pinned[held.node] = 0;
  held = { node: held ? -1 : under(event.clientX, event.clientY, within), moved: held !== null };
  canvas.classList.add("moving");
});
canvas.addEventListener("pointermove", event => {
  const now = [event.clientX, event.clientY];
  const was = fingers.get(event.pointerId);
  if (!was || !held) {
    const i = under(...now);
    canvas.classList.toggle("over", i >= 0);
    if (i !== hover && event.pointerType !== "touch") {
      hover = i;
      redraw(false);
    }
    return;
  }
  if (fingers.size === 2) {
    const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
    const before = Math.hypot(was[0] - other[0], was[1] - other[1]) || 1;
    zoom(
      Math.hypot(now[0] - other[0], now[1] - other[1]) / before,
      (now[0] + other[0]) / 2,
      (now[1] + other[1]) / 2,
    );
  } else if (held.moved || Math.hypot(now[0] - was[0], now[1] - was[1]) > 3) {
    held.moved = true;
    if (held.node >= 0) {
      x[held.node] = (now[0] - view.x) / view.k;
      y[held.node] = (now[1] - view.y) / view.k;
      pinned[held.node] = 1;
      touched = true; // or the view would follow the node
      layout.reheat();
      redraw();
      run();
    } else move(now[0] - was[0], now[1] - was[1]);
  } else return;
  fingers.set(event.pointerId, now);
});
function release(event) {
  fingers.delete(event.pointerId);
  if (!held || fingers.size) return;
  if (held.node >= 0) pinned[held.node] = 0;
  if (!held.moved && event.type === "pointerup") choose(held.node);
  held = null;
  canvas.classList.remove("moving");
}
canvas.addEventListener("pointerup", release);
canvas.addEventListener("pointercancel", release);
canvas.addEventListener("pointerleave", light(-1));
canvas.addEventListener("dblclick", event => zoom(1.6, event.clientX, event.clientY));
canvas.addEventListener(
  "wheel",
  event => {
    event.preventDefault();
    const by = event.deltaMode === 1 ? event.deltaY * 24 : event.deltaY;
    zoom(Math.exp(-max(-120, min(120, by)) * 0.0022), event.clientX, event.clientY);
  },
  { passive: false },
);
