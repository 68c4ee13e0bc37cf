/** The validators read what the bridge answers, from the files that its own tests write. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as answers from "../../src/answers";
import { UnexpectedShape, type Shape } from "../../src/shape";

const GOLDEN = join(import.meta.dirname, "..", "..", "..", "golden", "http");

const SHAPES: Record<string, Shape<unknown>> = {
	"conflict-resolve": answers.resolved,
	"conflict-resolve-text": answers.resolved,
	conflicts: answers.conflicts,
	context: answers.context,
	fact: answers.fact,
	"fact-adopt": answers.report,
	"fact-forget": answers.forgotten,
	"fact-history": answers.history,
	"fact-related": answers.related,
	"fact-restore": answers.forgotten,
	"fact-supersede": answers.fact,
	"fact-update": answers.fact,
	"facts-create": answers.fact,
	"facts-list": answers.facts,
	"graph-colours": answers.colours,
	ids: answers.freshId,
	index: answers.indexFiles,
	"index-file": answers.indexFile,
	proposals: answers.proposals,
	"proposal-accept": answers.settled,
	"proposal-reject": answers.settled,
	recall: answers.recall,
	status: answers.status,
	"status-watched": answers.status,
	sync: answers.report,
	"sync-dry-run": answers.report,
	undo: answers.report,
	verify: answers.verified,
	"write-answer": answers.nothing,
};

interface Golden {
	status: number;
	answer: unknown;
	events?: { event: string; data: unknown }[];
}

const read = (name: string): Golden => JSON.parse(readFileSync(join(GOLDEN, `${name}.json`), "utf8")) as Golden;
const names = existsSync(GOLDEN) ? readdirSync(GOLDEN).filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -5)) : [];

describe("the bridge's answers", () => {
	test("there are some", () => {
		expect(names).toContain("status");
	});

	test.each(Object.keys(SHAPES))("%s is as the plugin expects", (name) => {
		const { status, answer } = read(name);
		expect(status).toBe(200);
		expect(() => SHAPES[name]?.(answer, name)).not.toThrow();
	});

	test("each route that the plugin uses has an answer here", () => {
		const unused = new Set([
			...["adopt", "events", "fact-edit", "graph", "links-fix", "maintain"],
			...["observation", "observations-create", "observations-list", "observations-process"],
			...["modules", "modules-sync", "repo-context", "repo-copy", "repo-promote", "session"],
		]);
		const others = names.filter((name) => !name.startsWith("error-") && !unused.has(name));
		expect(others.sort()).toEqual(Object.keys(SHAPES).sort());
	});

	test.each(names.filter((name) => name.startsWith("error-")))("%s says what is wrong", (name) => {
		const { error } = answers.failure(read(name).answer, name);
		expect(error.message).not.toBe("");
	});

	test("a pass that the guard stopped can be confirmed", () => {
		expect(answers.failure(read("error-guard").answer, "guard").error.run).toMatch(/^[0-9a-f-]{36}$/);
	});

	test("events carry what the plugin reads of them", () => {
		const { events } = JSON.parse(readFileSync(join(GOLDEN, "events.json"), "utf8")) as Golden;
		const shapes: Record<string, Shape<unknown>> = { state: answers.status, pass: answers.report, write: answers.write };
		const kinds = events?.map(({ event, data }) => {
			shapes[event]?.(data, event);
			return event;
		});
		expect(kinds).toEqual(expect.arrayContaining(["state", "pass", "conflict", "write"]));
	});
});

describe("a validator", () => {
	const fact = { id: "1", type: "note", scope: "public", createdAt: "2026-01-01T00:00:00Z", path: null, revision: "1-a" };

	test("lets keys through that a newer daemon adds, and leaves them out", () => {
		expect(answers.fact({ ...fact, mood: "fine" }, "fact")).not.toHaveProperty("mood");
	});

	test("fills in what a fact may lack", () => {
		expect(answers.fact(fact, "fact")).toMatchObject({ tags: [], priority: 2, status: "active" });
	});

	test("names the place of what is wrong", () => {
		const wrong = { facts: [fact, { ...fact, revision: 7 }], next: null };
		expect(() => answers.facts(wrong, "answer")).toThrow("answer.facts[1].revision should be a text, but is number 7");
	});

	test.each([
		["an object", null],
		["an object", []],
		["a list", { facts: {}, next: null }],
		["a text", { facts: [], next: 3 }],
	])("wants %s", (wanted, value) => {
		expect(() => answers.facts(value, "answer")).toThrow(UnexpectedShape);
		expect(() => answers.facts(value, "answer")).toThrow(wanted);
	});

	test("refuses a word that it does not know", () => {
		expect(() => answers.write({ write: "1", action: "burn", path: "a.md" }, "write")).toThrow("modify or rename");
	});

	test("refuses a number that is none", () => {
		expect(() => answers.verified({ equal: true, checked: Number.NaN, differences: [] }, "verify")).toThrow("a number");
		expect(() => answers.verified({ equal: 1, checked: 1, differences: [] }, "verify")).toThrow("true or false");
	});
});
