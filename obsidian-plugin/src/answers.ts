/**
 * What the bridge answers: one validator per shape, and the type that it lets through.
 *
 * The tests read the answers in `golden/http/` with these, so that both sides agree.
 */

import { anything, flag, list, nullable, number, object, optional, table, text, word, type Of } from "./shape";

export const side = word("vault", "store");
export type Side = Of<typeof side>;

const texts = list(text);

export const fact = object({
	id: text,
	type: text,
	title: optional(text, ""),
	content: optional(text, ""),
	priority: optional(number, 2),
	status: optional(text, "active"),
	tags: optional(texts, []),
	entities: optional(texts, []),
	scope: text,
	createdAt: text,
	updatedAt: optional(text, ""),
	agentId: optional(text, ""),
	supersedesId: optional(text, null),
	supersededById: optional(text, null),
	path: nullable(text),
	revision: text,
});
export type Fact = Of<typeof fact>;

export const facts = object({ facts: list(fact), next: nullable(text) });

export const notice = object({
	kind: text,
	path: optional(text, null),
	line: optional(number, null),
	message: text,
	hint: optional(text, ""),
});
export type Notice = Of<typeof notice>;

export const action = object({
	action: text,
	fact_id: optional(text, null),
	path: optional(text, null),
	fields: optional(texts, []),
	reason: optional(text, ""),
});

export const counts = table(number);

export const report = object({
	run: nullable(text),
	dry_run: flag,
	seconds: number,
	counts,
	actions: list(action),
	attention: list(notice),
});
export type Report = Of<typeof report>;

export const daemon = object({
	watcher: optional(text, ""),
	watcher_trouble: optional(text, ""),
	store_away: optional(text, ""),
	lag_seconds: optional(number, null),
	failing: optional(flag, false),
	last_error: optional(object({ at: text, message: text, hint: optional(text, "") }), null),
	since: optional(text, null),
	passes: optional(number, null),
});
export type Daemon = Of<typeof daemon>;

export const status = object({
	facts: number,
	notes: number,
	pending: number,
	conflicts: number,
	attention: list(notice),
	outbox: number,
	last_run: optional(object({ run: text, at: text, kind: text, counts }), null),
	engine: text,
	foreign: optional(number, 0),
	daemon: optional(daemon, null),
	vault_id: text,
	version: text,
	app_connected: optional(flag, false),
});
export type Status = Of<typeof status>;

export const conflictField = object({ field: text, base: anything, vault: anything, store: anything });
export type ConflictField = Of<typeof conflictField>;

export const conflict = object({
	id: text,
	fact_id: text,
	path: nullable(text),
	conflict_path: optional(text, null),
	fields: list(conflictField),
});
export type Conflict = Of<typeof conflict>;

export const conflicts = object({ conflicts: list(conflict) });

export const change = object({
	run: text,
	at: text,
	side: text,
	actor: text,
	field: text,
	before: anything,
	after: anything,
});
export type Change = Of<typeof change>;

export const history = object({ history: list(change) });

const neighbour = object({ id: text, title: text, path: nullable(text) });
export type Neighbour = Of<typeof neighbour>;

export const related = object({
	backlinks: list(neighbour),
	related: list(neighbour),
	chain: list(object({ id: text, title: text, path: nullable(text), createdAt: text })),
	signals: object({
		accessCount: optional(number, 0),
		lastAccessedAt: optional(text, null),
		decayFactor: optional(number, null),
		importance: optional(number, null),
		utility: optional(number, null),
	}),
});
export type Related = Of<typeof related>;

export const hit = object({
	id: text,
	title: text,
	type: text,
	path: nullable(text),
	score: number,
	similarity: optional(number, null),
	recency: optional(number, null),
	utility: optional(number, null),
	stage: text,
	why: text,
	snippet: text,
});
export type Hit = Of<typeof hit>;

export const recall = object({
	query: text,
	source: text,
	confidence: number,
	degraded: list(anything),
	seconds: number,
	hits: list(hit),
});
export type Recall = Of<typeof recall>;

export const packItem = object({
	id: text,
	tokens: number,
	tier: text,
	reason: text,
	citation: text,
	title: optional(text, ""),
	cut: optional(flag, false),
});
export const leftOut = object({ id: text, tokens: number, reason: text, title: optional(text, "") });
export const context = object({
	text,
	tokens: number,
	budget: number,
	by_tier: table(number),
	items: list(packItem),
	left_out: list(leftOut),
	truncated: flag,
	intent: optional(text, ""),
	degraded: optional(list(anything), []),
});
export type Context = Of<typeof context>;

export const forgotten = object({ id: text, status: text });
export const verified = object({ equal: flag, checked: number, differences: list(anything) });
export const resolved = object({ conflicts: list(conflict), resolved: anything });
export const indexFiles = object({ files: list(object({ name: text, bytes: number })) });
export const indexFile = object({ name: text, text });
export const colours = object({ path: text, changed: anything });
export const freshId = object({ id: text });
export const nothing = anything;

export const write = object({
	write: text,
	action: word("modify", "rename"),
	path: text,
	to: optional(text, null),
	expect: text,
	text: optional(text, null),
});
export type Write = Of<typeof write>;

export const failure = object({ error: object({ kind: text, message: text, hint: optional(text, ""), run: optional(text, null) }) });
