import { describe, expect, test } from "vitest";
import { CLI_COMMANDS, cliAnswer } from "../../src/cli";
import type { Bridge } from "../../src/client";

const inWords = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A bridge that notes what it is asked, and answers as it is told. */
function bridge(answer: unknown): { bridge: Bridge; asked: unknown[] } {
	const asked: unknown[] = [];
	const ask = (...given: unknown[]): Promise<unknown> => {
		asked.push(given);
		return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
	};
	return { asked, bridge: { recall: ask, remember: ask, sync: ask, context: ask, proposals: ask, answer: ask } as unknown as Bridge };
}

async function run(name: string, given: Record<string, string>, answer: unknown): Promise<{ said: string; asked: unknown[] }> {
	const command = CLI_COMMANDS.find((each) => each.name === name);
	if (!command) throw new Error(name);
	const asked = bridge(answer);
	return { said: await cliAnswer(command, asked.bridge, given, inWords), asked: asked.asked };
}

const HIT = { id: "1", title: "Use SQLite", type: "decision", path: "a.md", score: 1, similarity: null, recency: null, utility: null, stage: "index", why: "", snippet: "It is embedded." };
const PROPOSAL = { id: "0123456789abcdef", kind: "retitle", title: "Call it “Gates”", expires_at: "2026-03-16T13:45:00Z", outcome: "" };

describe("the commands of the command line", () => {
	test("have names without spaces, and say what they do", () => {
		expect(CLI_COMMANDS.map(({ name }) => name)).toEqual(["recall", "remember", "sync", "context", "proposals"]);
		for (const { description, flags } of CLI_COMMANDS) {
			expect(description).toMatch(/^[A-Z].*[^.]$/);
			for (const flag of Object.values(flags)) expect(flag.description).toMatch(/^[A-Z].*[^.]$/);
		}
	});

	test("recall prints where, what and why, and passes the filters on", async () => {
		const { said, asked } = await run("recall", { query: "why sqlite?", limit: "3", type: "decision" }, { hits: [HIT], hidden: [] });
		expect(said).toBe("a.md\n  Use SQLite\n  It is embedded.");
		expect(asked).toEqual([[{ query: "why sqlite?", mode: "auto", limit: 3, types: ["decision"] }]]);
		expect((await run("recall", { query: "x y" }, { hits: [], hidden: [] })).said).toBe("Nothing found.");
		const nothing_known = "The memory has no facts of the type decision.";
		expect((await run("recall", { query: "decisions?" }, { hits: [], hidden: [], nothing_known })).said).toBe(nothing_known);
		const hidden = [{ count: 1, reason: "superseded" }];
		expect((await run("recall", { query: "x y" }, { hits: [], hidden })).said).toBe("Nothing found.\n1 more fact is hidden: 1 superseded.");
	});

	test("any answer is JSON where that is asked, also a failure", async () => {
		expect(JSON.parse((await run("recall", { query: "x", format: "json" }, { hits: [HIT], hidden: [] })).said)).toEqual({ hits: [HIT], hidden: [] });
		expect(JSON.parse((await run("recall", { query: "x", format: "json" }, new Error("off"))).said)).toEqual({ error: { message: "off" } });
	});

	test.each([
		["recall", {}, "Error: query=<text> is missing"],
		["recall", { query: "true" }, "Error: query=<text> is missing"],
		["recall", { query: "x", limit: "many" }, "Error: limit=many is not a whole number"],
		["remember", { text: " " }, "Error: text=<text> is missing"],
		["context", { query: "x", budget: "-1" }, "Error: budget=-1 is not a whole number"],
		["proposals", { accept: "1", reject: "2" }, "Error: accept or reject, not both"],
		["proposals", { accept: "true" }, "Error: accept=<id> is missing"],
	])("%s with %j asks nothing, and says what is wrong", async (name, given, words) => {
		const { said, asked } = await run(name, given, null);
		expect([said, asked]).toEqual([words, []]);
	});

	test("remember passes only what is given", async () => {
		const { said, asked } = await run("remember", { text: "Oil it.", tags: "a, b,", priority: "1" }, { id: "1", title: "Oil it" });
		expect(said).toBe("Remembered: Oil it (1)");
		expect(asked).toEqual([[{ text: "Oil it.", type: "fact", priority: 1, tags: ["a", "b"] }]]);
	});

	test("sync says what was done, or would be", async () => {
		const report = { run: null, dry_run: false, seconds: 0, counts: { merged: 1 }, actions: [], attention: [{ path: "a.md", message: "bad" }] };
		expect((await run("sync", {}, report)).said).toBe("Synced: 1 merged.\na.md: bad");
		const { said, asked } = await run("sync", { preview: "true" }, { ...report, dry_run: true, attention: [] });
		expect([said, asked]).toEqual(["Would sync: 1 merged.", [[{ dry_run: true }]]]);
	});

	test("proposals are listed, and answered several at once", async () => {
		expect((await run("proposals", {}, [PROPOSAL])).said).toBe("0123456789abcdef  Better title: Call it “Gates” (until 2026-03-16)");
		expect((await run("proposals", {}, [])).said).toBe("No proposals.");
		const settled = { proposals: [{ ...PROPOSAL, outcome: "accepted" }, PROPOSAL], run: "r", attention: [{ message: "title changed" }] };
		const { said, asked } = await run("proposals", { accept: "0123, 4567" }, settled);
		expect(said).toBe("Accepted: 1 proposal.\nUndo with: vaultsync undo r\ntitle changed");
		expect(asked).toEqual([[["0123", "4567"], "accept"]]);
	});
});
