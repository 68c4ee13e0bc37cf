import { describe, expect, test } from "vitest";
import type { Proposal, ProposedChange } from "../../src/answers";
import { AnswerQueue, byKind, fieldsOf, verbOf, type Ids } from "../../src/proposing";

const change = (given: Partial<ProposedChange>): ProposedChange => ({ fact_id: "f", path: null, title: "T", before: {}, after: {}, ...given });
const proposal = (id: string, kind: string): Proposal => ({
	id, kind, title: id, path: null, created_at: "", expires_at: "", changes: [], why: "", proposer: "", outcome: "", run: "", changed_since: [],
});

describe("what a proposal would do", () => {
	test.each([
		[{ before: { content: "a" }, after: null }, "Delete"],
		[{ before: {}, after: { content: "a" } }, "New"],
		[{ before: { content: "a" }, after: { title: "b" } }, "Change"],
		[{ before: { content: "a" }, after: {} }, "Keep"],
	] as const)("%j is: %s", (given, verb) => {
		expect(verbOf(change(given))).toBe(verb);
	});

	test("is told field by field, without what must only stay as it is", () => {
		const shown = fieldsOf(change({ before: { content: "read", tags: ["a"] }, after: { tags: ["a", "b"], priority: 1 } }), { changes: [] });
		expect(shown).toEqual([
			{ field: "priority", before: "", after: "1" },
			{ field: "tags", before: "a", after: "a\nb" },
		]);
	});

	test("names the other facts of the proposal by their titles", () => {
		const changes = [change({ fact_id: "1", title: "Old", after: { supersededById: "2" } }), change({ fact_id: "2", title: "New" })];
		expect(changes.flatMap((each) => fieldsOf(each, { changes }))).toEqual([{ field: "supersededById", before: "", after: "New" }]);
	});

	test("of a fact that stays is what it says", () => {
		expect(fieldsOf(change({ before: { content: "kept" }, after: {} }), { changes: [] })).toEqual([{ field: "content", before: "kept", after: "" }]);
	});

	test("of a deletion is what is lost", () => {
		expect(fieldsOf(change({ before: { content: "gone" }, after: null }), { changes: [] })).toEqual([{ field: "content", before: "gone", after: "" }]);
	});
});

test("kinds are in order of appearance", () => {
	const kinds = byKind([proposal("1", "junk"), proposal("2", "link"), proposal("3", "junk")]);
	expect([...kinds].map(([kind, all]) => [kind, all.map(({ id }) => id)])).toEqual([["junk", ["1", "3"]], ["link", ["2"]]]);
});

describe("the queue of answers", () => {
	const turn = (): Promise<void> => new Promise((done) => setTimeout(done, 0));

	test("sends one after the other, in order, each as a run of its own", async () => {
		const sent: string[] = [];
		const waiting: (() => void)[] = [];
		const send = (ids: Ids, verdict: string): Promise<void> => {
			sent.push(`${verdict} ${ids.join(" ")}`);
			return new Promise((done) => waiting.push(done));
		};
		let told = 0;
		const queue = new AnswerQueue(send, () => {
			told++;
		});
		queue.add(["1"], "accept");
		queue.add(["2", "3"], "reject");
		expect([sent, queue.count, queue.has("1"), queue.has("3"), queue.has("4")]).toEqual([["accept 1"], 3, true, true, false]);
		waiting.shift()?.();
		await turn();
		expect([sent, queue.count, queue.has("1"), told]).toEqual([["accept 1", "reject 2 3"], 2, false, 1]);
		waiting.shift()?.();
		await turn();
		expect([queue.count, told]).toEqual([0, 2]);
		queue.add(["4"], "accept");
		expect(sent.at(-1)).toBe("accept 4");
	});
});
