/**
 * What is read of the bridge's answers: one validator per shape, and the type that it lets
 * through. What the bridge answers is in `bridge-answers.ts`, made of its own types.
 *
 * The tests read the answers in `golden/http/` with these, so that both sides agree.
 */

import type * as wire from "./bridge-answers";
import { anything, flag, list, nullable, number, object, optional, reading, table, text, word, type Of } from "./shape";

export const side = word("vault", "store");
export type Side = Of<typeof side>;

const texts = list(text);

export const fact = reading<wire.PublicFact>()({
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

export const facts = reading<wire.PublicPage>()({ facts: list(fact), next: nullable(text) });

export const notice = reading<wire.ReportedNotice>()({
	kind: text,
	path: optional(text, null),
	line: optional(number, null),
	message: text,
	hint: optional(text, ""),
});
export type Notice = Of<typeof notice>;

export const action = reading<wire.ActionTaken>()({
	action: text,
	fact_id: optional(text, null),
	path: optional(text, null),
	fields: optional(texts, []),
	reason: optional(text, ""),
});

export const counts = table(number);

export const report = reading<wire.Report>()({
	run: nullable(text),
	dry_run: flag,
	seconds: number,
	counts,
	actions: list(action),
	attention: list(notice),
});
export type Report = Of<typeof report>;

const times = reading<wire.TimePercentiles>()({ count: number, p50: number, p95: number, p99: number });
export type Times = Of<typeof times>;

export const telemetry = reading<wire.Telemetry>()({
	since: text,
	write_through: optional(times, null),
	note_to_store: optional(times, null),
	recall: table(times),
	edits: number,
	conflicts: number,
	conflicts_per_1000_edits: number,
	longest_lag_seconds: number,
	restarts: number,
	crashes: number,
});
export type Telemetry = Of<typeof telemetry>;

export const daemon = reading<wire.DaemonState>()({
	watcher: optional(text, ""),
	watcher_trouble: optional(text, ""),
	store_away: optional(text, ""),
	lag_seconds: optional(number, null),
	failing: optional(flag, false),
	last_error: optional(reading<wire.LastError>()({ at: text, message: text, hint: optional(text, "") }), null),
	since: optional(text, null),
	passes: optional(number, null),
	telemetry: optional(telemetry, null),
});
export type Daemon = Of<typeof daemon>;

const observationCounts = reading<wire.ObservationCounts>()({
	pending: number,
	critical: number,
	notable: number,
	background: number,
	compressed: number,
	oldest_pending: nullable(text),
});
export type ObservationCounts = Of<typeof observationCounts>;

export const status = reading<wire.BridgeStatus>()({
	facts: number,
	notes: number,
	pending: number,
	conflicts: number,
	attention: list(notice),
	outbox: number,
	last_run: optional(reading<wire.RunSummary>()({ run: text, at: text, kind: text, counts }), null),
	engine: text,
	foreign: optional(number, 0),
	proposals: optional(number, 0),
	silent_proposals: optional(texts, []),
	observations: optional(observationCounts, null),
	daemon: optional(daemon, null),
	vault_id: text,
	version: text,
	app_connected: optional(flag, false),
});
export type Status = Of<typeof status>;

export const conflictField = reading<wire.FieldConflict>()({ field: text, base: anything, vault: anything, store: anything });
export type ConflictField = Of<typeof conflictField>;

export const conflict = reading<wire.ShownConflict>()({
	id: text,
	fact_id: text,
	path: nullable(text),
	conflict_path: optional(text, null),
	fields: list(conflictField),
});
export type Conflict = Of<typeof conflict>;

const copy = reading<wire.ShownCopy>()({ path: text, note: text });
export type ConflictCopy = Of<typeof copy>;

export const conflicts = reading<wire.ConflictsAndCopies>()({ conflicts: list(conflict), copies: optional(list(copy), []) });
export type Conflicts = Of<typeof conflicts>;

const values = table(anything);

export const proposedChange = reading<wire.ShownChange>()({
	fact_id: text,
	path: nullable(text),
	title: text,
	before: values,
	after: nullable(values),
});
export type ProposedChange = Of<typeof proposedChange>;

export const proposal = reading<wire.ShownProposal>()({
	id: text,
	kind: text,
	title: text,
	path: nullable(text),
	created_at: text,
	expires_at: text,
	changes: list(proposedChange),
	why: optional(text, ""),
	proposer: optional(text, ""),
	outcome: optional(text, ""),
	run: optional(text, ""),
	changed_since: optional(texts, []),
});
export type Proposal = Of<typeof proposal>;

export const proposals = reading<wire.Proposals>()({ proposals: list(proposal) });

export const settled = reading<wire.SettledProposals>()({ proposals: list(proposal), run: nullable(text), attention: list(notice) });
export type Settled = Of<typeof settled>;

export const change = reading<wire.FieldChange>()({
	run: text,
	at: text,
	side: text,
	actor: text,
	field: text,
	before: anything,
	after: anything,
});
export type Change = Of<typeof change>;

export const history = reading<wire.History>()({ history: list(change) });

const neighbour = reading<wire.Named>()({ id: text, title: text, path: nullable(text) });
export type Neighbour = Of<typeof neighbour>;

export const related = reading<wire.Related>()({
	backlinks: list(neighbour),
	related: list(neighbour),
	chain: list(reading<wire.Version>()({ id: text, title: text, path: nullable(text), createdAt: text })),
	signals: reading<wire.UseSignals>()({
		accessCount: optional(number, 0),
		lastAccessedAt: optional(text, null),
		decayFactor: optional(number, null),
		importance: optional(number, null),
		utility: optional(number, null),
	}),
	canvases: optional(list(text), []),
});
export type Related = Of<typeof related>;

export const hit = reading<wire.Hit>()({
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

const hiddenMatches = reading<wire.HiddenMatches>()({ count: number, reason: text });
export type HiddenMatches = Of<typeof hiddenMatches>;

export const recall = reading<wire.RecallResult>()({
	query: text,
	source: text,
	confidence: number,
	degraded: list(text),
	seconds: number,
	hits: list(hit),
	hidden: optional(list(hiddenMatches), []),
	nothing_known: optional(text, ""),
});
export type Recall = Of<typeof recall>;

export const packItem = reading<wire.PackedItem>()({
	id: text,
	tokens: number,
	tier: text,
	reason: text,
	citation: text,
	title: optional(text, ""),
	cut: optional(flag, false),
});
export const leftOut = reading<wire.LeftOut>()({ id: text, tokens: number, reason: text, title: optional(text, "") });
export const context = reading<wire.ContextPack>()({
	text,
	tokens: number,
	budget: number,
	by_tier: table(number),
	items: list(packItem),
	left_out: list(leftOut),
	truncated: flag,
	intent: optional(text, ""),
	degraded: optional(list(anything), []),
	hidden: optional(list(hiddenMatches), []),
	nothing_known: optional(text, ""),
});
export type Context = Of<typeof context>;

export const forgotten = reading<wire.ForgetResult>()({ id: text, status: text });
export const verified = reading<wire.Verification>()({ equal: flag, checked: number, differences: list(anything) });
export const resolved = reading<wire.ResolveResult>()({ conflicts: list(conflict), resolved: anything });
export const indexFiles = reading<wire.IndexFiles>()({ files: list(reading<wire.IndexFile>()({ name: text, bytes: number })) });
export const indexFile = reading<wire.IndexText>()({ name: text, text });
export const colours = reading<wire.GraphColours>()({ path: text, changed: anything });
export const freshId = reading<wire.FreshId>()({ id: text });
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

export const failure = reading<wire.Failure>()({ error: reading<wire.Trouble>()({ kind: text, message: text, hint: optional(text, ""), run: optional(text, null) }) });
