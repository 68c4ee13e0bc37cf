/* The force-directed layout of the graph.

   Linked nodes attract, all nodes repel (Barnes and Hut 1986), everything falls slowly to the
   middle. A large graph is arranged from coarse to fine: neighbours are merged until few are
   left, and each level begins where the one above came to rest (Walshaw 2003). Nodes without
   links stand in rows below. Nothing is random, so the layout of a graph is always the same. */

/* exported makeLayout */

"use strict";

const { abs, cos, floor, max, min, round, sin, sqrt } = Math;

/* Node i lies at (x[i], y[i]) once `placed`. `run(until)` works until that time of
   `performance.now()`, or until all nodes are at rest, and returns whether they are.
   `reheat()` lets them move again. */
function makeLayout(count, links) {
  const finest = makeLevel(
    count,
    Int32Array.from(links, link => link[0]),
    Int32Array.from(links, link => link[1]),
  );
  const { x, y, degree, pinned } = finest;
  const charge = Float64Array.from(degree, d => (d ? 46 + 16 * sqrt(d) : 0));
  const radius = Float64Array.from(degree, d => min(4.2 + 1.7 * sqrt(d), 26));
  Object.assign(finest, { charge, radius });
  const tree = makeTree(count);
  const LAST = 0.004;
  const DRAG = 0.58;
  let heat = 0;
  let arranged = false;
  let work = arrange();

  function* arrange() {
    const levels = [finest];
    for (let last = finest; last.count > FEW; last = levels[levels.length - 1]) {
      yield false;
      const next = coarser(last);
      if (next.count > last.count * 0.9) break;
      levels.push(next);
    }
    spread(levels[levels.length - 1]);
    for (let at = levels.length - 1; at >= 0; at -= 1) {
      const level = levels[at];
      const first = at === levels.length - 1;
      heat = first ? 1 : 0.3;
      yield* cool(level, first ? 320 : max(30, min(120, round(2.4e5 / level.count))));
      for (let finer = at - 1; finer >= 0; finer -= 1) expand(levels[finer], levels[finer + 1]);
      shelve(finest);
      yield true;
    }
    arranged = true;
  }

  /* Moves the nodes a little, and less each time; yields before it takes long. */
  function* cool(level, steps) {
    const decay = 1 - Math.pow(LAST / heat, 1 / steps);
    const { x, y, vx, vy, degree, charge, pinned } = level;
    const near = level.count > 1500 ? 1.5 : 0.81;
    while (heat >= LAST) {
      heat -= heat * decay;
      pull(level);
      tree.build(level);
      for (let i = 0; i < level.count; i += 1) {
        if (i % 256 === 255) yield false;
        if (!charge[i]) continue;
        tree.push(level, i, heat, near);
        const fall = (degree[i] ? 0.03 : 0.05) * heat;
        vx[i] -= x[i] * fall;
        vy[i] -= y[i] * fall;
      }
      for (let i = 0; i < level.count; i += 1) {
        vx[i] *= DRAG;
        vy[i] *= DRAG;
        const speed = sqrt(vx[i] * vx[i] + vy[i] * vy[i]);
        if (speed > 90) {
          vx[i] *= 90 / speed;
          vy[i] *= 90 / speed;
        }
        if (!pinned[i]) {
          x[i] += vx[i];
          y[i] += vy[i];
        }
      }
      yield level === finest;
    }
  }

  function pull({ from, to, x, y, vx, vy, degree, radius }) {
    for (let i = 0; i < from.length; i += 1) {
      const s = from[i];
      const t = to[i];
      const few = min(degree[s], degree[t]);
      const many = max(degree[s], degree[t]);
      let dx = x[t] + vx[t] - x[s] - vx[s];
      let dy = y[t] + vy[t] - y[s] - vy[s];
      const far = sqrt(dx * dx + dy * dy) || 1e-6;
      const rest = 30 + 4 * sqrt(many) + radius[s] + radius[t];
      const f = (((far - rest) / far) * heat * 0.7) / max(few, 1);
      dx *= f;
      dy *= f;
      const share = degree[s] / (degree[s] + degree[t]);
      vx[t] -= dx * share;
      vy[t] -= dy * share;
      vx[s] += dx * (1 - share);
      vy[s] += dy * (1 - share);
    }
  }

  return {
    x,
    y,
    degree,
    radius,
    pinned,
    placed: false,
    moved: false,
    run(until) {
      this.moved = false;
      while (work) {
        const { done, value } = work.next();
        if (done) work = null;
        if (value) this.moved = this.placed = true;
        if (performance.now() > until) break;
      }
      return !work;
    },
    /* Not while a large graph is arranged, and not after: a step takes too long. */
    reheat() {
      if (!arranged || count > LARGE) return;
      heat = max(heat, 0.25);
      work = work || cool(finest, 240);
    },
  };
}

/* The number of nodes at which a graph is coarse enough to begin with. */
const FEW = 600;
/* With more nodes, a dragged one moves alone. */
const LARGE = 3000;

function makeLevel(count, from, to) {
  const degree = new Float64Array(count);
  for (let i = 0; i < from.length; i += 1) {
    degree[from[i]] += 1;
    degree[to[i]] += 1;
  }
  const [x, y, vx, vy] = Array.from({ length: 4 }, () => new Float64Array(count));
  return { count, from, to, degree, x, y, vx, vy, pinned: new Uint8Array(count) };
}

function neighboursOf({ count, from, to }) {
  const near = Array.from({ length: count }, () => []);
  for (let i = 0; i < from.length; i += 1) {
    near[from[i]].push(to[i]);
    near[to[i]].push(from[i]);
  }
  return near;
}

/* The level above one: each node is merged with a neighbour, those with few links first. */
function coarser(level) {
  const { count, degree, charge, radius } = level;
  const near = neighboursOf(level);
  const parent = new Int32Array(count).fill(-1);
  const size = [];
  const order = Array.from({ length: count }, (_, i) => i).filter(i => charge[i]);
  order.sort((a, b) => degree[a] - degree[b] || a - b);
  for (const i of order) {
    if (parent[i] >= 0) continue;
    let best = -1;
    for (const other of near[i]) {
      if (best < 0) best = other;
      const free = parent[other] < 0;
      if (free !== parent[best] < 0) best = free ? other : best;
      else if (free ? degree[other] < degree[best] : size[parent[other]] < size[parent[best]]) {
        best = other;
      }
    }
    if (best < 0 || parent[best] < 0) {
      parent[i] = size.length;
      size.push(1);
    } else parent[i] = parent[best];
    if (best >= 0 && parent[best] < 0) parent[best] = parent[i];
    size[parent[i]] += 1;
  }
  const edges = new Set();
  for (let i = 0; i < level.from.length; i += 1) {
    const s = parent[level.from[i]];
    const t = parent[level.to[i]];
    if (s !== t) edges.add(min(s, t) * size.length + max(s, t));
  }
  const above = makeLevel(
    size.length,
    Int32Array.from(edges, edge => floor(edge / size.length)),
    Int32Array.from(edges, edge => edge % size.length),
  );
  above.charge = new Float64Array(size.length);
  above.radius = new Float64Array(size.length);
  for (const i of order) {
    above.charge[parent[i]] += charge[i];
    above.radius[parent[i]] += radius[i] * radius[i];
  }
  above.radius = above.radius.map(sqrt);
  level.parent = parent;
  return above;
}

const TURN = Math.PI * (3 - sqrt(5)); // the golden angle, which fills a disc evenly

/* Places the nodes on a spiral, linked ones near each other. */
function spread(level) {
  nearFirst(level).forEach((i, place) => {
    const r = 14 * sqrt(place + 0.5);
    level.x[i] = r * cos(place * TURN);
    level.y[i] = r * sin(place * TURN);
  });
}

/* Places the nodes of a level around those that they were merged into. */
function expand(level, above) {
  const placed = new Uint32Array(above.count);
  for (let i = 0; i < level.count; i += 1) {
    const to = level.parent[i];
    if (to < 0) continue;
    const r = 0.7 * above.radius[to] * sqrt(placed[to] + 0.2);
    level.x[i] = above.x[to] + r * cos(placed[to] * TURN + to);
    level.y[i] = above.y[to] + r * sin(placed[to] * TURN + to);
    placed[to] += 1;
  }
}

/* Places the nodes without links in rows below the others. */
function shelve({ count, x, y, degree, radius }) {
  const loose = [];
  let [left, right, bottom] = [Infinity, -Infinity, -Infinity];
  for (let i = 0; i < count; i += 1) {
    if (!degree[i]) loose.push(i);
    else {
      left = min(left, x[i]);
      right = max(right, x[i]);
      bottom = max(bottom, y[i] + radius[i]);
    }
  }
  const any = right >= left;
  const gap = max(24, any ? (right - left) / 110 : 0);
  const wide = max(any ? right - left : 0, gap * sqrt(loose.length * 1.6));
  const columns = max(1, min(loose.length, floor(wide / gap)));
  const middle = any ? (left + right) / 2 : 0;
  loose.forEach((i, place) => {
    x[i] = middle + ((place % columns) - (columns - 1) / 2) * gap;
    y[i] = (any ? bottom + 3 * gap : 0) + floor(place / columns) * gap;
  });
}

/* All linked nodes in an order that keeps neighbours together: the largest components first. */
function nearFirst(level) {
  const { count, degree, charge } = level;
  const near = neighboursOf(level);
  const seen = new Uint8Array(count);
  const parts = [];
  const byDegree = Array.from({ length: count }, (_, i) => i).filter(i => charge[i]);
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
  const stack = new Int32Array(256); // three more for each depth
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

  function build({ count, x, y, charge }) {
    let span = 1;
    for (let i = 0; i < count; i += 1) span = max(span, abs(x[i]), abs(y[i]));
    used = 0;
    cell(span);
    twin.fill(-1);
    for (let i = 0; i < count; i += 1) if (charge[i]) insert(i, x, y);
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

  function push({ x, y, vx, vy, radius }, i, heat, near) {
    let waiting = 1;
    stack[0] = 0;
    while (waiting) {
      waiting -= 1;
      const at = stack[waiting];
      let dx = x[i] - cx[at];
      let dy = y[i] - cy[at];
      let far = dx * dx + dy * dy;
      const size = half[at] * 2;
      const alone = body[at] >= 0;
      if (!alone && size * size > near * far) {
        for (let side = 0; side < 4; side += 1) {
          const c = child[at * 4 + side];
          if (c >= 0) {
            stack[waiting] = c;
            waiting += 1;
          }
        }
        continue;
      }
      if (alone && body[at] === i && twin[i] < 0) continue;
      if (far < 1e-9) {
        dx = 0.01 * ((i % 7) - 3.1);
        dy = 0.01 * ((i % 5) - 1.9);
        far = 1e-4;
      }
      let f = (heat * mass[at]) / max(far, 30);
      if (alone) {
        const room = radius[i] + radius[body[at]] + 5;
        const gap = sqrt(far);
        if (gap < room) f += ((room - gap) / gap) * 0.28;
      }
      vx[i] += dx * f;
      vy[i] += dy * f;
    }
  }

  return { build, push };
}
