import { describe, expect, test } from "vitest";
import { paragraphAt } from "../../src/paragraph";
import { processorTime } from "./processor";

const NOTE = `---
id: 0193f6c2
title: A note about the pier
---

# The pier in winter

The ferry leaves at **six**,
and [[people/Bente Lund|Bente]] is [on it](a.md).

- the first item of the list
- [ ] the second item: since yesterday

\`\`\`python
print("the pier in code")
\`\`\`
Two words
after the fence there are more.`;

const lines = (text: string): { lineCount(): number; getLine(line: number): string } => {
	const all = text.split("\n");
	return { lineCount: () => all.length, getLine: (line) => all[line] ?? "" };
};
const at = (words: string): string => paragraphAt(lines(NOTE), NOTE.split("\n").findIndex((line) => line.includes(words)));

describe("the paragraph of the cursor", () => {
	test.each([
		["The ferry", "The ferry leaves at six, and Bente is on it."],
		["and [[people", "The ferry leaves at six, and Bente is on it."],
		["The pier in winter", "The pier in winter"],
		["the first item", "the first item of the list"],
		["the second item", "the second item since yesterday"],
		["Two words", "Two words after the fence there are more."],
	])("at “%s” is “%s”", (words, found) => {
		expect(at(words)).toBe(found);
	});

	test.each(["id: 0193", "title: A note", "print(", "```python", "---"])("at “%s” is none", (words) => {
		expect(at(words)).toBe("");
	});

	test("is none at the end of the properties", () => {
		expect(paragraphAt(lines(NOTE), 3)).toBe("");
	});

	test("is none on an empty line, nor with too few words", () => {
		expect(paragraphAt(lines("One two three.\n\n"), 1)).toBe("");
		expect(paragraphAt(lines("One two"), 0)).toBe("");
	});

	test("has its end where it is long, for that is what is being written", () => {
		const words = Array.from({ length: 300 }, (_, n) => `word${n}`);
		const found = paragraphAt(lines(words.join(" ")), 0);
		expect(found.length).toBeLessThanOrEqual(400);
		expect(found.endsWith("word298 word299")).toBe(true);
	});

	test.each(["[", "[[", "![", "[a](", "<!--"])("is found fast in a line of %j", (mark) => {
		const text = lines(`${mark.repeat(50_000)} One two three.`);
		expect(processorTime(() => paragraphAt(text, 0))).toBeLessThan(2000);
	});

	test("asks by no filter, nor in quotes", () => {
		expect(paragraphAt(lines("type:decision tag:x since: May \"quite so\" #berth"), 0)).toBe("type decision tag x since May quite so berth");
	});
});
