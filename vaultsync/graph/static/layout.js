/* The force-directed layout of the graph.

   Linked nodes attract, all nodes repel (Barnes and Hut 1986), everything falls slowly to the
   middle. Nothing is random, so the layout of a graph is always the same. */

/* exported makeLayout */

"use strict";

/* Node i lies at (x[i], y[i]). `step()` moves all of them a little, and less each time;
   it returns whether they have come to rest. `reheat()` lets them move again. */
function makeLayout(count, links) {
  const x = new Float64Array(count);
  const y = new Float64Array(count);
  const vx = new Float64Array(count);
  const vy = new Float64Array(count);
  const degree = new Float64Array(count);
  const pinned = new Uint8Array(count);
  const from = Int32Array.from(links, link => link[0]);
  const to = Int32Array.from(links, link => link[1]);
  for (let i = 0; i < from.length; i += 1) {
    degree[from[i]] += 1;
    degree[to[i]] += 1;
  }
  const charge = Float64Array.from(degree, d => 46 + 16 * Math.sqrt(d));
  const radius = Float64Array.from(degree, d => Math.min(4.2 + 1.7 * Math.sqrt(d), 26));
  const placed = nearFirst(count, links, degree);
  for (let i = 0; i < count; i += 1) {
    const r = 14 * Math.sqrt(i + 0.5);
    const a = i * Math.PI * (3 - Math.sqrt(5));
    x[placed[i]] = r * Math.cos(a);
    y[placed[i]] = r * Math.sin(a);
  }
  const tree = makeTree(count);
  const large = count > 1500; // fewer and coarser steps, to finish within seconds
  const LAST = 0.004;
  const DECAY = 1 - Math.pow(LAST, 1 / (large ? 190 : 320));
  const DRAG = 0.58;
  const NEAR = large ? 1.5 : 0.81;
  let heat = 1;

  function pull() {
    for (let i = 0; i < from.length; i += 1) {
      const s = from[i];
      const t = to[i];
      const few = Math.min(degree[s], degree[t]);
      const many = Math.max(degree[s], degree[t]);
      let dx = x[t] + vx[t] - x[s] - vx[s];
      let dy = y[t] + vy[t] - y[s] - vy[s];
      const far = Math.sqrt(dx * dx + dy * dy) || 1e-6;
      const rest = 30 + 4 * Math.sqrt(many) + radius[s] + radius[t];
      const f = (((far - rest) / far) * heat * 0.7) / Math.max(few, 1);
      dx *= f;
      dy *= f;
      const share = degree[s] / (degree[s] + degree[t]);
      vx[t] -= dx * share;
      vy[t] -= dy * share;
      vx[s] += dx * (1 - share);
      vy[s] += dy * (1 - share);
    }
  }

  function step() {
    if (heat < LAST) return true;
    heat -= heat * DECAY;
    pull();
    tree.build(x, y, charge);
    for (let i = 0; i < count; i += 1) {
      tree.push(i, x, y, vx, vy, radius, heat, NEAR);
      const fall = (degree[i] ? 0.03 : 0.11) * heat;
      vx[i] -= x[i] * fall;
      vy[i] -= y[i] * fall;
    }
    for (let i = 0; i < count; i += 1) {
      vx[i] *= DRAG;
      vy[i] *= DRAG;
      const speed = Math.sqrt(vx[i] * vx[i] + vy[i] * vy[i]);
      if (speed > 90) {
        vx[i] *= 90 / speed;
        vy[i] *= 90 / speed;
      }
      if (!pinned[i]) {
        x[i] += vx[i];
        y[i] += vy[i];
      }
    }
    return heat < LAST;
  }

  return {
    x,
    y,
    degree,
    radius,
    pinned,
    step,
    reheat(to) {
      heat = Math.max(heat, to);
    },
  };
}

/* All nodes in an order that keeps linked ones together: the largest components first. */
function nearFirst(count, links, degree) {
  const near = Array.from({ length: count }, () => []);
  for (const [s, t] of links) {
    near[s].push(t);
    near[t].push(s);
  }
  const seen = new Uint8Array(count);
  const parts = [];
  const byDegree = Array.from({ length: count }, (_, i) => i);
  byDegree.sort((a, b) => degree[b] - degree[a] || a - b);
  for (const root of byDegree) {
    if (seen[root]) continue;
    const part = [root];
    seen[root] = 1;
    for (let at = 0; at < part.length; at += 1) {
      for (const other of near[part[at]]) {
        if (!seen[other]) {
          seen[other] = 1;
          part.push(other);
        }
      }
    }
    parts.push(part);
  }
  parts.sort((a, b) => b.length - a.length || a[0] - b[0]);
  return parts.flat();
}

/* A quadtree: distant nodes repel as one (Barnes and Hut). */
function makeTree(count) {
  let room = 4 * count + 64;
  let child = new Int32Array(room * 4);
  let body = new Int32Array(room);
  let mass = new Float64Array(room);
  let cx = new Float64Array(room);
  let cy = new Float64Array(room);
  let half = new Float64Array(room);
  const twin = new Int32Array(count);
  const stack = [];
  let used = 0;

  function cell(size) {
    if (used === room) grow();
    const at = used;
    used += 1;
    child.fill(-1, at * 4, at * 4 + 4);
    body[at] = -1;
    mass[at] = 0;
    cx[at] = 0;
    cy[at] = 0;
    half[at] = size;
    return at;
  }

  function grow() {
    room *= 2;
    const wider = (old, size) => {
      const grown = new old.constructor(size);
      grown.set(old);
      return grown;
    };
    child = wider(child, room * 4);
    body = wider(body, room);
    mass = wider(mass, room);
    cx = wider(cx, room);
    cy = wider(cy, room);
    half = wider(half, room);
  }

  function build(x, y, charge) {
    let span = 1;
    for (let i = 0; i < count; i += 1) span = Math.max(span, Math.abs(x[i]), Math.abs(y[i]));
    used = 0;
    cell(span);
    twin.fill(-1);
    for (let i = 0; i < count; i += 1) insert(i, x, y);
    for (let at = used - 1; at >= 0; at -= 1) weigh(at, x, y, charge);
  }

  function insert(i, x, y) {
    let at = 0;
    let mx = 0;
    let my = 0;
    let size = half[0];
    for (let depth = 0; ; depth += 1) {
      const side = (x[i] > mx ? 1 : 0) + (y[i] > my ? 2 : 0);
      size /= 2;
      mx += side & 1 ? size : -size;
      my += side & 2 ? size : -size;
      const next = child[at * 4 + side];
      if (next < 0) {
        const fresh = cell(size);
        body[fresh] = i;
        child[at * 4 + side] = fresh;
        return;
      }
      at = next;
      const held = body[at];
      if (held < 0) continue;
      if (depth > 40 || (x[held] === x[i] && y[held] === y[i])) {
        twin[i] = twin[held];
        twin[held] = i;
        return;
      }
      const under = (x[held] > mx ? 1 : 0) + (y[held] > my ? 2 : 0);
      const fresh = cell(size / 2);
      body[fresh] = held;
      body[at] = -1;
      child[at * 4 + under] = fresh;
    }
  }

  function weigh(at, x, y, charge) {
    let m = 0;
    let sx = 0;
    let sy = 0;
    for (let i = body[at]; i >= 0; i = twin[i]) {
      m += charge[i];
      sx += x[i] * charge[i];
      sy += y[i] * charge[i];
    }
    for (let side = 0; side < 4; side += 1) {
      const c = child[at * 4 + side];
      if (c >= 0) {
        m += mass[c];
        sx += cx[c] * mass[c];
        sy += cy[c] * mass[c];
      }
    }
    mass[at] = m;
    cx[at] = sx / m;
    cy[at] = sy / m;
  }

  function push(i, x, y, vx, vy, radius, heat, near) {
    stack.length = 0;
    stack.push(0);
    while (stack.length) {
      const at = stack.pop();
      let dx = x[i] - cx[at];
      let dy = y[i] - cy[at];
      let far = dx * dx + dy * dy;
      const size = half[at] * 2;
      const alone = body[at] >= 0;
      if (!alone && size * size > near * far) {
        for (let side = 0; side < 4; side += 1) {
          const c = child[at * 4 + side];
          if (c >= 0) stack.push(c);
        }
        continue;
      }
      if (alone && body[at] === i && twin[i] < 0) continue;
      if (far < 1e-9) {
        dx = 0.01 * ((i % 7) - 3.1);
        dy = 0.01 * ((i % 5) - 1.9);
        far = 1e-4;
      }
      let f = (heat * mass[at]) / Math.max(far, 30);
      if (alone) {
        const room = radius[i] + radius[body[at]] + 5;
        const gap = Math.sqrt(far);
        if (gap < room) f += ((room - gap) / gap) * 0.28;
      }
      vx[i] += dx * f;
      vy[i] += dy * f;
    }
  }

  return { build, push };
}
