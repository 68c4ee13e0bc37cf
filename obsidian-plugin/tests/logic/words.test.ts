import { describe, expect, test } from "vitest";
import type { Context, Daemon, Fact, Status, Telemetry } from "../../src/answers";
import { factId, NotAdoptable, withId } from "../../src/frontmatter";
import { estimate, Picks, wholePack } from "../../src/picks";
import { DEFAULTS, settingsFrom, TokenSafe } from "../../src/settings";
import { EventReader } from "../../src/sse";
import { summary } from "../../src/summary";
import { ago, deletionOf, fieldName, hiddenWords, nameOf, observationRows, passWords, scopesOf, shown, size, telemetryWords, tierOf } from "../../src/words";
import { apiVersion } from "./obsidian";
import { processorTime } from "./processor";

const status = (given: Partial<Status> = {}): Status => ({
	facts: 67, notes: 67, pending: 0, conflicts: 0, attention: [], outbox: 0, last_run: null, engine: "idle", foreign: 0,
	proposals: 0, silent_proposals: [], observations: null,
	daemon: null, vault_id: "v", version: "0.1.0", app_connected: true, ...given,
});
const daemon = (given: Partial<Daemon>): Daemon => ({
	watcher: "watchfiles", watcher_trouble: "", store_away: "", lag_seconds: 0, failing: false,
	last_error: { at: "2026-02-14T13:45:00Z", message: "the guard stopped this run", hint: "look at it" }, since: null, passes: 1, telemetry: null, ...given,
});
const notice = { kind: "x", path: "a.md", line: 1, message: "m", hint: "" };

test("what an answer hides is counted, with the reasons", () => {
	expect(hiddenWords([])).toBe("");
	expect(hiddenWords([{ count: 1, reason: "archived" }])).toBe("1 more fact is hidden: 1 archived.");
	expect(hiddenWords([{ count: 1_200, reason: "background" }, { count: 2, reason: "branch" }])).toBe("1,202 more facts are hidden: 1,200 with background priority, 2 of other branches.");
});

test("observations are counted by tier, and those that wait are named", () => {
	const none = { pending: 0, critical: 0, notable: 0, background: 0, compressed: 0, oldest_pending: null };
	expect(observationRows(none)).toEqual([]);
	expect(observationRows({ ...none, pending: 3 })).toEqual([["To classify", "3"]]);
	expect(observationRows({ ...none, pending: 1_200, critical: 2, background: 40, compressed: 39, oldest_pending: "2026-02-14T13:45:00Z" })).toEqual([
		["To classify", "1,200, the oldest of 2026-02-14"],
		["Critical", "2"],
		["Background", "40 (39 archived)"],
	]);
});

describe("the status bar", () => {
	test.each([
		[{}, "equal", "in sync"],
		[{ pending: 2, outbox: 1 }, "waiting", "3 waiting"],
		[{ conflicts: 1, pending: 2 }, "conflict", "1 conflict"],
		[{ conflicts: 2, attention: [notice] }, "conflict", "2 conflicts"],
		[{ conflicts: 1, proposals: 3 }, "conflict", "1 conflict · 3 proposals"],
		[{ proposals: 1, pending: 2 }, "proposal", "1 proposal"],
		[{ proposals: 2, attention: [notice] }, "attention", "needs attention"],
		[{ attention: [notice] }, "attention", "needs attention"],
		[{ daemon: daemon({ failing: true }), pending: 2 }, "attention", "needs attention"],
		[{ daemon: daemon({ store_away: "it is locked" }) }, "attention", "needs attention"],
		[{ daemon: daemon({}) }, "equal", "in sync"],
	])("of %j is %s: %s", (given, tone, text) => {
		expect(summary({ kind: "on", status: status(given) })).toMatchObject({ tone, text });
	});

	test.each([
		[{ kind: "unset" }, "not connected"],
		[{ kind: "off" }, "daemon off"],
		[{ kind: "late" }, "daemon busy"],
		[{ kind: "refused", message: "No such token.", hint: "" }, "not connected"],
		[{ kind: "stranger", vault: "other" }, "other vault"],
	] as const)("of %j is quiet: %s", (line, text) => {
		expect(summary(line)).toMatchObject({ tone: "off", text });
	});

	test("what is said is a sentence", () => {
		expect(summary({ kind: "on", status: status({ daemon: daemon({ failing: true }) }) }).label).toBe("The last run failed: the guard stopped this run.");
		expect(summary({ kind: "on", status: status({ daemon: daemon({ store_away: "it is locked" }) }) }).label).toBe("The store does not answer: it is locked.");
		expect(summary({ kind: "on", status: status({ conflicts: 1, pending: 2 }) }).label).toBe("1 conflict to resolve. 2 waiting.");
		expect(summary({ kind: "refused", message: "No such token.", hint: "Print it." }).label).toBe("No such token.\nPrint it.");
		expect(summary({ kind: "on", status: status({ facts: 1234 }) }).label).toBe("Notes and memory are in sync: 1,234 facts.");
	});
});

describe("a conflict about a deletion", () => {
	const field = { field: "note", base: null, vault: "changed", store: "deleted" };

	test("is told as what it is, and says which side keeps the note", () => {
		expect(deletionOf(field)).toEqual({
			said: "An agent deleted this fact while you changed its note. An edit takes precedence over a deletion, so your note was kept.",
			keep: "vault",
			drop: "store",
		});
		expect(deletionOf({ ...field, vault: "deleted", store: "changed" })).toEqual({
			said: "You deleted this note while an agent changed it. An edit takes precedence over a deletion, so the note was restored.",
			keep: "store",
			drop: "vault",
		});
	});

	test("is no conflict about a property of that name", () => {
		expect(deletionOf({ ...field, store: "Call Bob" })).toBeNull();
		expect(deletionOf({ ...field, field: "title" })).toBeNull();
	});
});

describe("server-sent events", () => {
	const stream = 'event: state\ndata: {"facts":1}\n\n: ping\n\nevent: write\r\ndata: {"a":\r\ndata: 2}\r\n\r\ndata: [3]\n\ndata: half{\n\n';
	const wanted = [
		{ kind: "state", data: { facts: 1 } },
		{ kind: "write", data: { a: 2 } },
		{ kind: "message", data: [3] },
	];

	test.each([1, 2, 3, 7, 1000])("are read in pieces of %d", (length) => {
		const reader = new EventReader();
		const found = [];
		for (let at = 0; at < stream.length; at += length) found.push(...reader.read(stream.slice(at, at + length)));
		expect(found).toEqual(wanted);
	});

	test("are read in time in proportion to their length", () => {
		const long = `data: "${"x".repeat(30_000_000)}"\n\n`;
		const reader = new EventReader();
		let found = 0;
		const took = processorTime(() => {
			for (let at = 0; at < long.length; at += 1 << 16) found += reader.read(long.slice(at, at + (1 << 16))).length;
		});
		expect(found).toBe(1);
		expect(took).toBeLessThan(10_000);
	});
});

describe("adoption", () => {
	test.each([
		["# Title\n", "---\nid: X\n---\n\n# Title\n"],
		["", "---\nid: X\n---\n\n"],
		["---\ntags: [a] # keep\n---\nBody", "---\nid: X\ntags: [a] # keep\n---\nBody"],
		["---\r\na: 1\r\n---\r\n", "---\r\nid: X\r\na: 1\r\n---\r\n"],
		["line\r\n", "---\r\nid: X\r\n---\r\n\r\nline\r\n"],
		["\uFEFF# T\n", "\uFEFF---\nid: X\n---\n\n# T\n"],
		["---\nnever closed\n", "---\nid: X\n---\n\n---\nnever closed\n"],
	])("adds one line to %j", (text, adopted) => {
		expect(withId(text, "X")).toBe(adopted);
	});

	test.each(["---\nid: 7\n---\n", "---\na: 1\n'id' : 7\n---\n", "---\nid:\n---\n"])("leaves %j alone, which has an id", (text) => {
		expect(() => withId(text, "X")).toThrow(NotAdoptable);
	});

	test("is a fact by a UUID alone, for the bridge also takes names", () => {
		const id = "0193f6c2-0000-7000-8000-00000000abcd";
		expect([id, ` ${id.toUpperCase()}`].map(factId)).toEqual([id, id]);
		expect(["Oil the hinge", "0193f6c2", "202602141345", `${id}0`, "", 7, null, undefined, [id]].map(factId)).toEqual(Array(9).fill(null));
	});
});

describe("a pack", () => {
	const fact: Fact = {
		id: "f1", type: "note", title: "Lamp", content: "It is dark.", priority: 2, status: "active", tags: [], entities: [], scope: "public",
		createdAt: "", updatedAt: "", agentId: "", supersedesId: null, supersededById: null, path: "public/Lamp.md", revision: "1",
	};
	const pack: Context = {
		text: "# Context", tokens: 10, budget: 100, by_tier: {}, left_out: [], truncated: false, intent: "", degraded: [], hidden: [], nothing_known: "",
		items: [{ id: "f2", tokens: 10, tier: "notable", reason: "", citation: "b.md", title: "", cut: false }],
	};

	test("holds what was picked, before what was packed", () => {
		const picks = new Picks();
		picks.add(fact);
		expect(wholePack(picks.all, pack)).toBe("## Picked\n\n### Lamp\n\n*public/Lamp.md*\n\nIt is dark.\n\n# Context");
		expect(picks.tokens).toBe(estimate("### Lamp\n\n*public/Lamp.md*\n\nIt is dark."));
	});

	test("holds nothing twice", () => {
		const picks = new Picks();
		picks.add({ ...fact, id: "f2" });
		expect(wholePack(picks.all, pack)).toBe("# Context");
	});

	test("tells of what comes and goes, until nobody listens", () => {
		const picks = new Picks();
		let told = 0;
		const end = picks.listen(() => told++);
		picks.add(fact);
		picks.remove("f1");
		end();
		picks.add(fact);
		expect([told, picks.has("f1")]).toEqual([2, true]);
	});
});

describe("settings", () => {
	test("what was saved is kept, what is of no use is not", () => {
		expect(settingsFrom({ address: "http://127.0.0.1:1", budget: "many", colour: "red" })).toEqual({ ...DEFAULTS, address: "http://127.0.0.1:1" });
		expect(settingsFrom(null)).toEqual(DEFAULTS);
	});

	test.each([
		["1.12", true],
		["1.10", false],
	])("in app %s the token is a secret: %s", (version, secret) => {
		const kept = new Map<string, string>();
		const keep = (where: string) => (key: string, value: unknown) => kept.set(`${where} ${key}`, String(value));
		const take = (where: string) => (key: string) => kept.get(`${where} ${key}`) ?? null;
		const app = {
			secretStorage: { setSecret: keep("secret"), getSecret: take("secret") },
			saveLocalStorage: keep("local"),
			loadLocalStorage: take("local"),
		};
		apiVersion.now = version;
		const safe = new TokenSafe(app as never, "v-1");
		expect(safe.read()).toBe("");
		safe.write("t0k3n");
		expect(safe.read()).toBe("t0k3n");
		expect(safe.secret).toBe(secret);
		expect([...kept.keys()]).toEqual([`${secret ? "secret" : "local"} vaultsync-v-1`]);
		const early = new TokenSafe(app as never, null);
		early.write("of a vault without an id yet");
		early.identify("v-2");
		expect(new TokenSafe(app as never, "v-2").read()).toBe("of a vault without an id yet");
		early.identify("v-3");
		early.write("of its new store");
		expect(new TokenSafe(app as never, "v-3").read()).toBe("of its new store");
		apiVersion.now = "9";
	});
});

describe("words", () => {
	test.each([
		["2026-01-01T12:00:00Z", "just now"],
		["2026-01-01T11:59:20Z", "40 seconds ago"],
		["2026-01-01T11:59:00Z", "1 minute ago"],
		["2026-01-01T09:00:00Z", "3 hours ago"],
		["2025-12-31T11:00:00Z", "1 day ago"],
		["2025-11-01T00:00:00Z", "2025-11-01"],
		["never", "never"],
	])("%s was %s", (at, words) => {
		expect(ago(at, Date.parse("2026-01-01T12:00:00Z"))).toBe(words);
	});

	test("fields, tiers, names, sizes, scopes, values", () => {
		expect(fieldName("decisionOutcome")).toBe("Decision outcome");
		expect([0, 1, 2, 3, 4].map(tierOf)).toEqual(["critical", "notable", "notable", "background", "background"]);
		expect(nameOf("a/b/Mend it.md")).toBe("Mend it");
		expect([size(12), size(1234), size(123456)]).toEqual(["12 B", "1.2 kB", "123 kB"]);
		expect(scopesOf(["Inbox", "team-core", "public", "private-indy", ".index", "project-"])).toEqual(["private-indy", "public", "team-core"]);
		expect([null, "a", 3, ["a", 2], { a: 1 }].map(shown)).toEqual(["", "a", "3", "a\n2", '{\n  "a": 1\n}']);
	});

	test("what a daemon measured of itself", () => {
		const none: Telemetry = {
			since: "2026-02-14T13:45:00Z", write_through: null, note_to_store: null, recall: {}, edits: 0, conflicts: 0,
			conflicts_per_1000_edits: 0, longest_lag_seconds: 0, restarts: 0, crashes: 0,
		};
		expect(telemetryWords(none)).toEqual([["Longest delay", "0 ms"], ["Restarts", "0"]]);

		const times = { count: 9, p50: 0.0421, p95: 0.4, p99: 1.26 };
		const words = "42 ms; 95 % within 400 ms, 99 % within 1.3 s";
		const some = {
			...none, write_through: times, note_to_store: times, recall: { fused: times, other: times }, edits: 800, conflicts: 1,
			conflicts_per_1000_edits: 1.25, longest_lag_seconds: 2.5, restarts: 3, crashes: 1,
		};
		expect(telemetryWords(some)).toEqual([
			["Fact to note", words], ["Note to fact", words], ["Recall by hybrid search", words], ["Recall other", words],
			["Conflicts", "1 in 800 edits"], ["Longest delay", "2.5 s"], ["Restarts", "3, 1 after a crash"],
		]);

		const alike = { count: 1, p50: 0.02, p95: 0.02, p99: 0.02 };
		expect(telemetryWords({ ...none, recall: { context: alike } })[0]).toEqual(["Context packs", "20 ms"]);
	});

	test("what a pass did", () => {
		expect(passWords({ unchanged: 9 })).toBe("nothing to do");
		expect(passWords({ updated_in_vault: 1, conflicts: 2 })).toBe("1 note changed · 2 conflicts");
	});
});
