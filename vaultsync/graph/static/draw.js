/* Draws the graph and handles mouse and touch input. */

/* exported CREATED, STATUS, calm, chosen, dark, fit, found, height, lower, many, touched, width */
/* global choose, makeLayout, run */

const graph = JSON.parse(document.getElementById("graph").textContent);
const [LABEL, TYPE, PATH, SCOPE, CREATED, STATUS] = [0, 1, 2, 3, 4, 5];
const { nodes, links, types, kinds } = graph;
const layout = makeLayout(nodes.length, links);
const { x, y, degree, radius, pinned } = layout;
const byDegree = nodes.map((_, i) => i).sort((a, b) => degree[b] - degree[a] || a - b);
const rank = new Map(byDegree.map((i, place) => [i, place]));
const joined = nodes.map(() => []);
for (const link of links) {
  joined[link[0]].push(link);
  joined[link[1]].push(link);
}
const byTarget = types.map((_, type) => links.filter(link => nodes[link[1]][TYPE] === type));
const lower = nodes.map(n =>
  [n[LABEL], types[n[TYPE]][0], n[PATH] || "", n[SCOPE]].join("\n").toLowerCase(),
);

const $ = id => document.getElementById(id);
const canvas = $("picture");
const pen = canvas.getContext("2d");
const view = { k: 1, x: 0, y: 0 };
const hiddenTypes = new Set();
let hover = -1;
let chosen = -1;
let found = null;
let width = 0;
let height = 0;
let wanted = false;
let touched = false;
const tone = {};
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const dark = matchMedia("(prefers-color-scheme: dark)");
const number = new Intl.NumberFormat("en");
const shown = i => !hiddenTypes.has(nodes[i][TYPE]);
const many = (n, word) => `${number.format(n)} ${word}${n === 1 ? "" : "s"}`;

/* ------------------------------------------------------------------ drawing */

function draw() {
  wanted = false;
  const scale = window.devicePixelRatio || 1;
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  const at = hover >= 0 ? hover : chosen;
  const lit = at >= 0 ? new Set([at]) : null;
  if (lit) {
    for (const [s, t] of joined[at]) {
      lit.add(s);
      lit.add(t);
    }
  }
  const bright = i => (lit ? lit.has(i) : found ? found.has(i) : true);
  pen.lineWidth = Math.min(1.2, Math.max(0.35, view.k));
  const crowd = Math.min(1, 22 / Math.sqrt(links.length + 1));
  pen.globalAlpha = lit || found ? 0.07 : 0.15 + 0.33 * crowd;
  byTarget.forEach((some, type) => {
    pen.strokeStyle = types[type][1];
    pen.beginPath();
    for (const [s, t] of some) if (shown(s) && shown(t)) line(s, t);
    pen.stroke();
  });
  if (lit) for (const link of joined[at]) if (shown(link[0]) && shown(link[1])) arrow(link);
  types.forEach(([, colour], type) => {
    if (hiddenTypes.has(type)) return;
    for (const part of [false, true]) {
      pen.globalAlpha = part ? 1 : 0.16;
      pen.fillStyle = colour;
      pen.beginPath();
      for (let i = 0; i < nodes.length; i += 1) {
        if (nodes[i][TYPE] !== type || bright(i) !== part) continue;
        const [px, py, r] = place(i);
        if (px < -r || py < -r || px > width + r || py > height + r) continue;
        pen.moveTo(px + r, py);
        pen.arc(px, py, r, 0, 2 * Math.PI);
      }
      pen.fill();
      pen.strokeStyle = tone.ground;
      pen.lineWidth = 1.2;
      if (part && view.k > 0.25) pen.stroke();
    }
  });
  pen.globalAlpha = 1;
  for (const i of new Set([hover, chosen])) {
    if (i < 0 || !shown(i)) continue;
    const [px, py, r] = place(i);
    pen.lineWidth = 2;
    pen.strokeStyle = tone.strong;
    pen.beginPath();
    pen.arc(px, py, r + 2.5, 0, 2 * Math.PI);
    pen.stroke();
  }
  labels(at, bright);
}

const place = i => [
  x[i] * view.k + view.x,
  y[i] * view.k + view.y,
  Math.max(radius[i] * Math.min(1, 0.35 + view.k * 0.65) * Math.sqrt(view.k), 1.4),
];

function line(s, t) {
  pen.moveTo(x[s] * view.k + view.x, y[s] * view.k + view.y);
  pen.lineTo(x[t] * view.k + view.x, y[t] * view.k + view.y);
}

function arrow([s, t, kind, label]) {
  const [x1, y1] = place(s);
  const [x2, y2, r] = place(t);
  const far = Math.hypot(x2 - x1, y2 - y1) || 1;
  const ux = (x2 - x1) / far;
  const uy = (y2 - y1) / far;
  pen.globalAlpha = 0.85;
  pen.strokeStyle = pen.fillStyle = types[nodes[t][TYPE]][1];
  pen.lineWidth = 1.6;
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
  if (label && far > 90) write(label, (x1 + x2) / 2, (y1 + y2) / 2, 11, tone.soft);
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

/* Labels the most important nodes, as many as fit. */
function labels(at, bright) {
  const taken = new Map();
  const first = at >= 0 ? [at, ...joined[at].flatMap(l => [l[0], l[1]])] : [];
  let left = 160;
  for (const i of byDegree.slice(0, 400)) {
    const [px, py, r] = place(i);
    if (r < 5 || !shown(i) || !bright(i)) continue;
    for (const cell of cells(px - r * 0.7, py - r * 0.7, px + r * 0.7, py + r * 0.7)) {
      taken.set(cell, i);
    }
  }
  for (const i of [...first, ...byDegree]) {
    if (left === 0) break;
    const near = at >= 0 && bright(i);
    if (!shown(i) || !bright(i)) continue;
    const [px, py, r] = place(i);
    if (px < 0 || py < 0 || px > width || py > height) continue;
    if (!near && !(found && found.has(i)) && r < 4.2) continue;
    const whole = nodes[i][LABEL];
    const text = whole.length > 34 ? whole.slice(0, 33) + "…" : whole;
    const size = i === at ? 13.5 : Math.min(13, 10 + r / 8);
    const ly = py + r + size * 0.75;
    pen.font = `${size}px system-ui, sans-serif`;
    const half = pen.measureText(text).width / 2 + 3;
    const room = cells(px - half, ly - 7, px + half, ly + 7);
    const main = near || rank.get(i) < 24; // these may cover nodes, but not other labels
    const covered = cell =>
      taken.has(cell) && (taken.get(cell) === -1 || !main) && taken.get(cell) !== i;
    if (i !== at && room.some(covered)) continue;
    room.forEach(cell => taken.set(cell, -1));
    write(text, px, ly, size, i === at ? tone.strong : tone.text);
    left -= 1;
  }
}

/* The grid cells that a box covers. */
function cells(x1, y1, x2, y2) {
  const found = [];
  for (let cx = Math.floor(x1 / 12); cx <= Math.floor(x2 / 12); cx += 1) {
    for (let cy = Math.floor(y1 / 12); cy <= Math.floor(y2 / 12); cy += 1) {
      found.push(cx * 4096 + cy);
    }
  }
  return found;
}

function redraw() {
  if (wanted) return;
  wanted = true;
  requestAnimationFrame(draw);
}

/* ------------------------------------------------------------- moving and zooming */

function fit() {
  let low = [Infinity, Infinity];
  let high = [-Infinity, -Infinity];
  for (let i = 0; i < nodes.length; i += 1) {
    if (!shown(i)) continue;
    low = [Math.min(low[0], x[i] - radius[i]), Math.min(low[1], y[i] - radius[i])];
    high = [Math.max(high[0], x[i] + radius[i]), Math.max(high[1], y[i] + radius[i])];
  }
  if (low[0] > high[0]) return;
  const wide = width > 900 ? 330 : 40;
  const k = Math.min((width - wide) / (high[0] - low[0]), (height - 90) / (high[1] - low[1]), 2.2);
  view.k = k;
  view.x = (width + (wide > 40 ? wide - 60 : 0)) / 2 - ((low[0] + high[0]) / 2) * k;
  view.y = height / 2 - ((low[1] + high[1]) / 2) * k;
  redraw();
}

function zoom(by, px = width / 2, py = height / 2) {
  const k = Math.min(12, Math.max(0.02, view.k * by));
  view.x = px - ((px - view.x) * k) / view.k;
  view.y = py - ((py - view.y) * k) / view.k;
  view.k = k;
  touched = true;
  redraw();
}

function move(dx, dy) {
  view.x += dx;
  view.y += dy;
  touched = true;
  redraw();
}

function under(px, py) {
  let best = -1;
  let near = Infinity;
  for (let i = 0; i < nodes.length; i += 1) {
    if (!shown(i)) continue;
    const [nx, ny, r] = place(i);
    const far = Math.hypot(nx - px, ny - py) - r;
    if (far < 5 && far < near) {
      best = i;
      near = far;
    }
  }
  return best;
}

const fingers = new Map();
let held = null;
canvas.addEventListener("pointerdown", event => {
  canvas.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, [event.clientX, event.clientY]);
  held = { node: under(event.clientX, event.clientY), moved: false };
  canvas.classList.add("moving");
});
canvas.addEventListener("pointermove", event => {
  const now = [event.clientX, event.clientY];
  const was = fingers.get(event.pointerId);
  if (!was || !held) {
    const i = under(...now);
    canvas.classList.toggle("over", i >= 0);
    if (i !== hover) {
      hover = i;
      redraw();
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
      layout.reheat(0.25);
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
canvas.addEventListener("pointerleave", () => {
  hover = -1;
  redraw();
});
canvas.addEventListener("dblclick", event => zoom(1.6, event.clientX, event.clientY));
canvas.addEventListener(
  "wheel",
  event => {
    event.preventDefault();
    const by = event.deltaMode === 1 ? event.deltaY * 24 : event.deltaY;
    zoom(Math.exp(-Math.max(-120, Math.min(120, by)) * 0.0022), event.clientX, event.clientY);
  },
  { passive: false },
);
