import { describe, expect, test } from "vitest";
import { bothOf, differing, folded, matches, sideBySide, words } from "../../src/diff";
import { processorTime } from "./processor";

/** A few texts of few different lines, so that many are alike. The numbers are made, and always the same. */
function* texts(count: number): Generator<string> {
	let seed = 7;
	const next = (below: number): number => {
		seed = (seed * 1103515245 + 12345) % 2147483648;
		return seed % below;
	};
	for (let i = 0; i < count; i++) {
		yield Array.from({ length: next(9) }, () => ["one", "two", "three", "", "one more"][next(5)]).join("\n");
	}
}

const pairs = (count: number): [string, string][] => {
	const all = [...texts(count * 2)];
	return Array.from({ length: count }, (_, i) => [all[2 * i] ?? "", all[2 * i + 1] ?? ""]);
};

/** The length of the longest common subsequence, by the textbook. */
function longest(a: string[], b: string[]): number {
	const row = new Array<number>(b.length + 1).fill(0);
	for (const x of a) {
		let corner = 0;
		b.forEach((y, j) => {
			const up = row[j + 1] ?? 0;
			row[j + 1] = x === y ? corner + 1 : Math.max(up, row[j] ?? 0);
			corner = up;
		});
	}
	return row[b.length] ?? 0;
}

describe("equal lines", () => {
	test.each(pairs(200))("of %j and %j: as many as there can be, in order", (left, right) => {
		const a = left.split("\n");
		const b = right.split("\n");
		const found = matches(a, b);
		expect(found).toHaveLength(longest(a, b));
		for (const [i, j] of found) expect(a[i]).toBe(b[j]);
		found.slice(1).forEach(([i, j], at) => {
			expect(i).toBeGreaterThan(found[at]?.[0] ?? -1);
			expect(j).toBeGreaterThan(found[at]?.[1] ?? -1);
		});
	});

	test("a long text of which every paragraph was rewritten is told apart in little time", () => {
		const text = (word: string): string => Array.from({ length: 80 }, (_, line) => Array.from({ length: 300 }, (__, at) => `${word}${line}x${at}`).join(" ")).join("\n");
		const [before, after] = [text("old"), text("new")];
		const took = processorTime(() => {
			expect(sideBySide(before, after)).toHaveLength(80);
			for (let run = 0; run < 50; run++) expect(differing(before, after)[0]).toMatch(/^old0x0 .*…$/);
		});
		expect(took).toBeLessThan(3000);
	});

	test("two long texts that share nothing are told apart in no time", () => {
		const a = Array.from({ length: 20_000 }, (_, i) => `a${i}`);
		const b = Array.from({ length: 20_000 }, (_, i) => `b${i}`);
		const took = processorTime(() => expect(matches(a, b)).toEqual([]));
		expect(took).toBeLessThan(5000);
	});

	test("a text of 200,000 lines that was replaced is shown", () => {
		expect(sideBySide("a\n".repeat(200_000), "b")).toHaveLength(200_001);
	});
});

describe("side by side", () => {
	test.each(pairs(200))("%j and %j: each side reads whole", (left, right) => {
		const rows = sideBySide(left, right);
		const side = (name: "left" | "right"): string =>
			rows.flatMap((row) => (row[name] ? [row[name].pieces.map(({ text }) => text).join("")] : [])).join("\n");
		expect(side("left")).toBe(left);
		expect(side("right")).toBe(right);
		expect(rows.every(({ kind }) => kind === "same")).toBe(left === right);
	});

	test("a changed line stands beside what it was changed to", () => {
		const rows = sideBySide("a\nWho climbs: nobody\nc", "a\nWho climbs: Bente\nc");
		expect(rows.map(({ kind }) => kind)).toEqual(["same", "changed", "same"]);
		expect(rows[1]?.left?.line).toBe(2);
	});

	test("words that only one side has are marked", () => {
		const [left, right] = words("Who climbs: nobody yet", "Who climbs: Bente");
		expect(left.filter(({ own }) => own).map(({ text }) => text)).toEqual(["nobody yet"]);
		expect(right.filter(({ own }) => own).map(({ text }) => text)).toEqual(["Bente"]);
	});

	test.each([
		["我们决定使用数据库", "我们决定使用文件", "数据库", "文件"],
		["قرر الفريق استخدام صندوق", "قرر الفريق استخدام رصيف", "صندوق", "رصيف"],
		["यह किताब नई है", "यह किताबें नई हैं", "किताब", "किताबें"],
	])("words are told apart in any script: %s", (one, other, mine, theirs) => {
		const [left, right] = words(one, other);
		expect(left.find(({ own }) => own)?.text).toBe(mine);
		expect(right.find(({ own }) => own)?.text).toBe(theirs);
	});

	test("lines that share no word are marked whole", () => {
		expect(words("on Friday", "next week")).toEqual([[{ text: "on Friday", own: true }], [{ text: "next week", own: true }]]);
	});

	test("long runs of equal lines fold, short ones stay", () => {
		const lines = Array.from({ length: 20 }, (_, i) => `line ${i}`);
		const blocks = folded(sideBySide([...lines, "x"].join("\n"), [...lines, "y"].join("\n")));
		expect(blocks.map(({ fold, rows }) => [fold, rows.length])).toEqual([[true, 17], [false, 4]]);
		const few = folded(sideBySide("1\n2\n3\n4\nx", "1\n2\n3\n4\ny"));
		expect(few.every(({ fold }) => !fold)).toBe(true);
	});
});

describe("a text to merge from", () => {
	test("takes what only one side changed, and both where both did", () => {
		expect(bothOf("a\nb\nc\nd", "A\nb\nC\nd", "a\nb\nK\nd\ne")).toBe("A\nb\nC\nK\nd\ne");
	});

	test.each(pairs(100))("of base %j: a side that changed nothing adds nothing (%j)", (base, changed) => {
		expect(bothOf(base, changed, base)).toBe(changed);
		expect(bothOf(base, base, changed)).toBe(changed);
		expect(bothOf(base, changed, changed)).toBe(changed);
	});
});

test("a change in few words is the lines that differ", () => {
	expect(differing("a\nold\nc", "a\nnew\nc")).toEqual(["old", "new"]);
	expect(differing(null, "made.md")).toEqual(["", "made.md"]);
	expect(differing(["a"], ["a", "b"])).toEqual(["", "b"]);
	expect(differing("", "x".repeat(500))[1]).toHaveLength(120);
});
