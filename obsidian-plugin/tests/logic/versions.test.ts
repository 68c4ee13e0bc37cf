import { describe, expect, test } from "vitest";
import type { Change } from "../../src/answers";
import { between, byRun } from "../../src/versions";

const change = (run: string, field: string, before: unknown, after: unknown): Change => ({ run, at: run, side: "store", actor: "indy", field, before, after });

const HISTORY = [
	change("1", "content", "one", "two"),
	change("1", "tags", ["a"], ["a", "b"]),
	change("2", "content", "two", "three"),
	change("3", "content", "three", "one"),
	change("3", "priority", 2, 0),
];

describe("versions", () => {
	test("runs are newest first, with all that each changed", () => {
		expect(byRun(HISTORY).map(({ run, changes }) => [run, changes.length])).toEqual([["3", 2], ["2", 1], ["1", 2]]);
	});

	test.each([
		[0, 1, [["content", "one", "two"], ["tags", ["a"], ["a", "b"]]]],
		[1, 2, [["content", "two", "three"]]],
		[0, 2, [["content", "one", "three"], ["tags", ["a"], ["a", "b"]]]],
		[2, 0, [["content", "one", "three"], ["tags", ["a"], ["a", "b"]]]],
		[1, 3, [["content", "two", "one"], ["priority", 2, 0]]],
		[0, 3, [["tags", ["a"], ["a", "b"]], ["priority", 2, 0]]],
		[2, 2, []],
	])("between %i and %i differ only fields that are not the same again", (one, other, fields) => {
		expect(between(HISTORY, one, other).map(({ field, before, after }) => [field, before, after])).toEqual(fields);
	});

	test("any two versions differ as the values at them do", () => {
		const states = [0, 1, 2, 3].map((version) => {
			const state: Record<string, unknown> = { content: "one", tags: ["a"], priority: 2 };
			for (const { run, field, after } of HISTORY) if (Number(run) <= version) state[field] = after;
			return state;
		});
		for (let one = 0; one <= 3; one++) {
			for (let other = one; other <= 3; other++) {
				const told = Object.fromEntries(between(HISTORY, one, other).map(({ field, after }) => [field, after]));
				expect({ ...states[one], ...told }).toEqual(states[other]);
			}
		}
	});
});
