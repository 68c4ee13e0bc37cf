/**
 * What differs between two texts: lines, side by side, and the words within a changed line.
 *
 * The lines are compared by Myers' algorithm (An O(ND) difference algorithm, 1986), after what is equal at
 * both ends is set aside. Texts that differ in more than `MOST` lines are shown as wholly replaced.
 */

import { shown } from "./words";

export interface Piece {
	text: string;
	/** Whether only this side has it. */
	own: boolean;
}

export interface Cell {
	/** The number of the line, from 1. */
	line: number;
	pieces: Piece[];
}

export interface Row {
	kind: "same" | "changed" | "left" | "right";
	left: Cell | null;
	right: Cell | null;
}

/** A run of equal lines that need not be shown, or rows that do. */
export type Block = { fold: true; rows: Row[] } | { fold: false; rows: Row[] };

const MOST = 500;
/** Of any script, also of those that write no spaces. */
const WORDS = new Intl.Segmenter(undefined, { granularity: "word" });

/** The rows that show `left` beside `right`. */
export function sideBySide(left: string, right: string): Row[] {
	const a = left.split("\n");
	const b = right.split("\n");
	const rows: Row[] = [];
	let at = 0;
	let beside = 0;
	for (const [i, j] of [...matches(a, b), [a.length, b.length] as const]) {
		// One by one: a call takes no more than some 100,000 arguments.
		for (const row of unequal(a, b, [at, i], [beside, j])) rows.push(row);
		if (i < a.length) {
			const text = a[i] ?? "";
			rows.push({
				kind: "same",
				left: { line: i + 1, pieces: [{ text, own: false }] },
				right: { line: j + 1, pieces: [{ text, own: false }] },
			});
		}
		at = i + 1;
		beside = j + 1;
	}
	return rows;
}

/** Rows with long runs of equal lines folded away, but for `around` lines beside each difference. */
export function folded(rows: readonly Row[], around = 3): Block[] {
	const near = rows.map(() => false);
	rows.forEach((row, index) => {
		if (row.kind === "same") return;
		for (let i = Math.max(0, index - around); i <= Math.min(rows.length - 1, index + around); i++) near[i] = true;
	});
	const blocks: Block[] = [];
	rows.forEach((row, index) => {
		const fold = near[index] === false;
		const last = blocks[blocks.length - 1];
		if (last?.fold === fold) last.rows.push(row);
		else blocks.push({ fold, rows: [row] });
	});
	return blocks.map((block) => (block.fold && block.rows.length < 3 ? { fold: false, rows: block.rows } : block));
}

/** The pairs of equal lines, in order: the longest common subsequence of `a` and `b`. */
export function matches(a: readonly string[], b: readonly string[]): (readonly [number, number])[] {
	let start = 0;
	while (start < a.length && start < b.length && a[start] === b[start]) start++;
	let end = 0;
	while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
	const found: (readonly [number, number])[] = [];
	for (let i = 0; i < start; i++) found.push([i, i]);
	const inner = myers(a.slice(start, a.length - end), b.slice(start, b.length - end));
	for (const [i, j] of inner) found.push([i + start, j + start]);
	for (let i = end; i > 0; i--) found.push([a.length - i, b.length - i]);
	return found;
}

function myers(a: readonly string[], b: readonly string[]): (readonly [number, number])[] {
	const most = Math.min(a.length + b.length, MOST);
	const reach = new Int32Array(2 * most + 3).fill(-1);
	reach[diagonal(reach, 1)] = 0;
	const trace: Int32Array[] = [];
	for (let d = 0; d <= most; d++) {
		trace.push(reach.slice());
		for (let k = -d; k <= d; k += 2) {
			const from = before(reach, d, k);
			let x = (reach[diagonal(reach, from)] ?? 0) + (from < k ? 1 : 0);
			while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
			reach[diagonal(reach, k)] = x;
			if (x >= a.length && x - k >= b.length) return walkBack(trace, a.length, b.length);
		}
	}
	return [];
}

/** Where the diagonal k, which is from -most - 1 to most + 1, stands in the reaches of all. */
function diagonal(reach: Int32Array, k: number): number {
	return k + (reach.length - 1) / 2;
}

/** The diagonal from which the d-th difference leads to the diagonal k. */
function before(reach: Int32Array, d: number, k: number): number {
	const at = diagonal(reach, k);
	const down = k === -d || (k !== d && (reach[at - 1] ?? -1) < (reach[at + 1] ?? -1));
	return down ? k + 1 : k - 1;
}

function walkBack(trace: readonly Int32Array[], m: number, n: number): (readonly [number, number])[] {
	const found: (readonly [number, number])[] = [];
	let x = m;
	let y = n;
	for (const [d, reach] of [...trace.entries()].reverse()) {
		const from = before(reach, d, x - y);
		const fromX = d === 0 ? 0 : (reach[diagonal(reach, from)] ?? 0);
		const fromY = d === 0 ? 0 : fromX - from;
		while (x > fromX && y > fromY && x > 0 && y > 0) {
			x--;
			y--;
			found.push([x, y]);
		}
		x = fromX;
		y = fromY;
	}
	return found.reverse();
}

/** Two values in a few words each: of texts the lines that differ; empty where there is nothing. */
export function differing(before: unknown, after: unknown, longest = 120): [string, string] {
	const [a, b] = [shown(before).split("\n"), shown(after).split("\n")];
	const both = matches(a, b);
	const brief = (all: readonly string[], shared: readonly number[]): string => {
		const equal = new Set(shared);
		const lines = all.filter((_, line) => !equal.has(line)).map((line) => line.trim());
		const text = lines.filter((line) => line !== "").join(" / ");
		return text.length > longest ? `${text.slice(0, longest - 1)}…` : text;
	};
	return [brief(a, both.map(([line]) => line)), brief(b, both.map(([, line]) => line))];
}

/** Rows for lines that are not equal: paired in order, the rest alone. */
function unequal(
	a: readonly string[],
	b: readonly string[],
	[from, to]: [number, number],
	[start, stop]: [number, number],
): Row[] {
	const rows: Row[] = [];
	for (let i = 0; i < Math.max(to - from, stop - start); i++) {
		const left = from + i < to ? (a[from + i] ?? "") : null;
		const right = start + i < stop ? (b[start + i] ?? "") : null;
		const [mine, theirs] = left !== null && right !== null ? words(left, right) : [whole(left), whole(right)];
		rows.push({
			kind: left === null ? "right" : right === null ? "left" : "changed",
			left: left === null ? null : { line: from + i + 1, pieces: mine },
			right: right === null ? null : { line: start + i + 1, pieces: theirs },
		});
	}
	return rows;
}

function whole(text: string | null): Piece[] {
	return [{ text: text ?? "", own: true }];
}

/** Two lines, cut into what they share and what each has alone. */
export function words(left: string, right: string): [Piece[], Piece[]] {
	const cut = (line: string): string[] => Array.from(WORDS.segment(line), ({ segment }) => segment);
	const a = cut(left);
	const b = cut(right);
	const both = matches(a, b);
	const shared = both.filter(([i]) => (a[i] ?? "").trim() !== "").length;
	if (shared === 0) return [whole(left), whole(right)];
	return [
		pieces(a, new Set(both.map(([i]) => i))),
		pieces(b, new Set(both.map(([, j]) => j))),
	];
}

function pieces(parts: readonly string[], shared: ReadonlySet<number>): Piece[] {
	const found: Piece[] = [];
	parts.forEach((text, index) => {
		const own = !shared.has(index);
		const last = found[found.length - 1];
		if (last?.own === own) last.text += text;
		else found.push({ text, own });
	});
	return found;
}

/**
 * A text to start merging from: what one side changed is taken, what both changed stands twice,
 * the person's lines first.
 */
export function bothOf(base: string, vault: string, store: string): string {
	const b = base.split("\n");
	const v = vault.split("\n");
	const s = store.split("\n");
	const inVault = new Map(matches(b, v));
	const inStore = new Map(matches(b, s));
	const out: string[] = [];
	let atBase = 0;
	let atVault = 0;
	let atStore = 0;
	for (let i = 0; i <= b.length; i++) {
		const j = i < b.length ? inVault.get(i) : v.length;
		const k = i < b.length ? inStore.get(i) : s.length;
		if (j === undefined || k === undefined) continue;
		out.push(...chosen(b.slice(atBase, i), v.slice(atVault, j), s.slice(atStore, k)));
		if (i < b.length) out.push(b[i] ?? "");
		[atBase, atVault, atStore] = [i + 1, j + 1, k + 1];
	}
	return out.join("\n");
}

function chosen(base: string[], vault: string[], store: string[]): string[] {
	const same = (x: string[], y: string[]): boolean => x.length === y.length && x.every((line, i) => line === y[i]);
	if (same(vault, store) || same(store, base)) return vault;
	if (same(vault, base)) return store;
	return [...vault, ...store];
}
