/** The responses of the bridge. Generated from its routes by `make docs`; do not edit. */

/** One action of a run. */
export interface ActionTaken {
	action: string;
	fact_id: string;
	path: string | null;
	fields: Array<string>;
	reason: string;
	counted: Array<string>;
}

/** The state of the managed block of a memory file. */
export interface BlockState {
	file: string;
	status: string;
	included: number;
	tokens: number;
	budget: number;
	left_out: Array<ManagedFact>;
	agent: string | null;
}

/** The status of a vault, with its id. */
export interface BridgeStatus {
	facts: number;
	notes: number;
	pending: number;
	conflicts: number;
	attention: Array<ReportedNotice>;
	outbox: number;
	last_run: RunSummary | null;
	engine: string;
	foreign: number;
	daemon: DaemonState | null;
	embedding: EmbeddingState | null;
	proposals: number;
	silent_proposals: Array<string>;
	observations: ObservationCounts;
	answers: Record<string, TimePercentiles>;
	blocks: Array<BlockState>;
	vault_id: string;
	version: string;
	app_connected: boolean;
}

/** A fact that was written. */
export interface ChangedFact {
	agentId?: string;
	content?: string;
	context?: string;
	contradicts?: Array<Contradiction>;
	createdAt?: string;
	entities?: Array<string>;
	id: string;
	path: string | null;
	priority: number;
	properties?: Record<string, unknown>;
	revision: string;
	same_text?: Array<SameText>;
	scope: string;
	status: string;
	supersededById?: string;
	supersedesId?: string;
	tags?: Array<string>;
	title?: string;
	type: string;
	updatedAt?: string;
}

/** The open conflicts, and the conflict copies of sync tools that are not settled. */
export interface ConflictsAndCopies {
	conflicts: Array<ShownConflict>;
	copies: Array<ShownCopy>;
}

/** A text within a budget of tokens, and what it is made of. */
export interface ContextPack {
	text: string;
	tokens: number;
	budget: number;
	by_tier: Record<string, number>;
	items: Array<PackedItem>;
	left_out: Array<LeftOut>;
	truncated: boolean;
	intent: string;
	format: string;
	nothing_known: string;
	needed: number;
	themes: Array<string>;
	counter: string;
	degraded: Array<string>;
	hidden: Array<HiddenMatches>;
}

/** A fact that says otherwise than another one. Nothing is changed by that. */
export interface Contradiction {
	id: string;
	title: string;
	date: string;
	why: string;
}

/** Facts that were copied to another branch. */
export interface Copied {
	copied: number;
	run: string | null;
	ids: Array<string>;
}

/** The state of the daemon, as it reports it. */
export interface DaemonState {
	since: string;
	watcher: string;
	watcher_trouble: string;
	store_away: string;
	lag_seconds: number;
	passes: number;
	waiting: number;
	conflicts: number;
	proposals: number;
	attention: number;
	failing: boolean;
	last_error: LastError | null;
	telemetry: Telemetry | null;
	pid?: number;
}

/** One value that differs between vault, store and base. */
export interface Difference {
	fact_id: string;
	path: string | null;
	field: string;
	vault: unknown;
	store: unknown;
	base: unknown;
	why: string;
}

/** The progress of embedding the texts of the facts, as reported by the worker. */
export interface EmbeddingState {
	facts: number;
	share: number;
	texts_left: number;
	texts_per_second: number;
	seconds_left: number | null;
	pid: number | null;
	complete: boolean;
	degraded: string;
}

/** An error. */
export interface Failure {
	error: Trouble;
}

/** One change of one field of a fact. */
export interface FieldChange {
	run: string;
	at: string;
	side: string;
	actor: string;
	field: string;
	before: unknown;
	after: unknown;
}

/** One thing that both sides changed differently. */
export interface FieldConflict {
	field: string;
	base: unknown;
	vault: unknown;
	store: unknown;
}

/** A fact that was deleted or brought back. */
export interface ForgetResult {
	id: string;
	status: "active" | "forgotten";
	previous?: string | null;
}

/** An id that nothing has. */
export interface FreshId {
	id: string;
}

/** The settings of Obsidian's graph view, with a colour for each type. */
export interface GraphColours {
	path: string;
	changed: boolean;
}

/** The graph of the memory, as `graph export` writes it. */
export interface GraphJson {
	nodes: Array<Record<string, unknown>>;
	links: Array<Record<string, unknown>>;
}

/** Facts that match, and were left out by a default. */
export interface HiddenMatches {
	count: number;
	reason: string;
	shown_by: string;
}

/** The changes of one fact, oldest first. */
export interface History {
	history: Array<FieldChange>;
}

/** A fact that was found, and why. Numbers are rounded to 4 digits. */
export interface Hit {
	id: string;
	title: string;
	type: string;
	path: string | null;
	score: number;
	similarity: number;
	recency: number;
	utility: number;
	stage: string;
	why: string;
	snippet: string;
	origin: string;
	date: string;
	contradicts: Array<string>;
}

/** A file of `.index/`. */
export interface IndexFile {
	name: string;
	bytes: number;
}

/** The files of `.index/`. */
export interface IndexFiles {
	files: Array<IndexFile>;
}

/** The text of a file of `.index/`. */
export interface IndexText {
	name: string;
	text: string;
}

/** The last error. */
export interface LastError {
	at: string;
	kind: string;
	message: string;
	hint: string;
}

/** A fact that was found and not packed, the tokens it would have taken, and why. */
export interface LeftOut {
	id: string;
	tokens: number;
	reason: string;
	title: string;
}

/** A broken or ambiguous link, or one that names only an alias. */
export interface LinkProblem {
	path: string;
	line: number;
	link: string;
	kind: string;
	property: string | null;
	why: string;
	candidates: Array<string>;
	fix: string | null;
}

/** The result of a check of all links. */
export interface LinkReport {
	broken: Array<LinkProblem>;
	ambiguous: Array<LinkProblem>;
	alias_only: Array<LinkProblem>;
	fixed: Array<LinkProblem>;
	notes: number;
	tags: number;
	links: Record<string, Record<string, number>>;
	unreadable: Array<string>;
	run: string | null;
}

/** An observation in a list. */
export interface ListedObservation {
	id: string;
	tier: string;
	status: string;
	content: string;
	created_at: string;
	path: string | null;
}

/** What maintenance did, or with `dry_run` would do. */
export interface MaintenanceReport {
	run: string;
	dry_run: boolean;
	seconds: number;
	counts: Record<string, number>;
	actions: Array<ActionTaken>;
	attention: Array<ReportedNotice>;
	pruned: Record<string, number>;
	proposed: Record<string, number>;
	accepted: Record<string, number>;
	silent: Array<string>;
}

/** A fact that is in the managed block of a memory file, or did not fit. */
export interface ManagedFact {
	id: string;
	title: string;
	path: string | null;
	reason: string;
}

/** The folders of modules that the vault has worked with. */
export interface ModuleFolders {
	folders: Array<ModuleStatus>;
}

/** The state of the mirror of a folder. */
export interface ModuleStatus {
	pending: number;
	oldest_hours: number;
	alert: boolean;
	failed: number;
	folder: string;
	space: string;
	remote: string;
	sync_success_total: number;
	sync_failure_total: number;
	attention: Array<ReportedNotice>;
}

/** The result of a `module sync`. */
export interface ModuleSyncReport {
	synced: number;
	failed: number;
	pending: number;
	removed: number;
	facts: number;
	files: number;
	attention: Array<ReportedNotice>;
	run: string | null;
}

/** What came of the sync of each folder of modules. */
export interface ModuleSyncs {
	folders: Array<ModuleSyncReport>;
}

/** The id, title and path of a fact. */
export interface Named {
	id: string;
	title: string;
	path: string | null;
}

/** A fact that was remembered. */
export interface NewFact {
	agentId?: string;
	content?: string;
	context?: string;
	contradicts?: Array<Contradiction>;
	createdAt?: string;
	entities?: Array<string>;
	id: string;
	mirrored: boolean;
	path: string | null;
	priority: number;
	properties?: Record<string, unknown>;
	revision: string;
	same_text?: Array<SameText>;
	scope: string;
	status: string;
	supersededById?: string;
	supersedesId?: string;
	tags?: Array<string>;
	title?: string;
	type: string;
	updatedAt?: string;
}

/** Numbers of observations, by state. */
export interface ObservationCounts {
	pending: number;
	critical: number;
	notable: number;
	background: number;
	compressed: number;
	oldest_pending: string | null;
}

/** Observations, the newest first. */
export interface Observations {
	observations: Array<ListedObservation>;
}

/** An observation that was stored, and waits to be classified. */
export interface Observed {
	id: string;
	status: string;
}

/** A fact that was packed. */
export interface PackedItem {
	id: string;
	tokens: number;
	tier: string;
	reason: string;
	citation: string;
	title: string;
	cut: boolean;
}

/** The result of a run over the pending observations, or with `dry_run` the plan. */
export interface ProcessReport {
	run: string;
	dry_run: boolean;
	seconds: number;
	counts: Record<string, number>;
	actions: Array<ActionTaken>;
	attention: Array<ReportedNotice>;
	classified: number;
	critical: number;
	notable: number;
	background: number;
	compressed: number;
	pending: number;
}

/** Facts that were promoted to another branch. */
export interface Promotion {
	promoted: number;
	run: string | null;
	ids: Array<string>;
}

/** Proposals, oldest first. */
export interface Proposals {
	proposals: Array<ShownProposal>;
}

/** A fact; fields that are not set are left out, and a type's own may follow. */
export interface PublicFact {
	agentId?: string;
	content?: string;
	context?: string;
	createdAt?: string;
	entities?: Array<string>;
	id: string;
	path: string | null;
	priority: number;
	properties?: Record<string, unknown>;
	revision: string;
	scope: string;
	status: string;
	supersededById?: string;
	supersedesId?: string;
	tags?: Array<string>;
	title?: string;
	type: string;
	updatedAt?: string;
}

/** One page of facts as surfaces show them. */
export interface PublicPage {
	facts: Array<PublicFact>;
	next: string | null;
	hidden: Array<HiddenMatches>;
}

/** The answer to a question. A sequence of its hits. */
export interface RecallResult {
	query: string;
	source: string;
	confidence: number;
	answerable: number;
	degraded: Array<string>;
	seconds: number;
	hits: Array<Hit>;
	hidden: Array<HiddenMatches>;
	nothing_known?: string;
	stages?: Array<RecallStage>;
}

/** What one stage did. */
export interface RecallStage {
	stage: string;
	seconds: number;
	candidates: Array<StageCandidate>;
}

/** What is connected to a fact. */
export interface Related {
	backlinks: Array<Named>;
	related: Array<Named>;
	chain: Array<Version>;
	signals: UseSignals;
	canvases: Array<string>;
}

/** The result of storing the messages of a session. */
export interface RememberedSession {
	session: string;
	ids: Array<string>;
	facts: number;
	known: number;
	skipped: number;
}

/** Knowledge about a repository for a step of work. */
export interface RepoContext {
	text: string;
	chars: number;
	max_chars: number;
	items: Array<RepoContextItem>;
	left_out: Array<RepoLeftOut>;
}

/** Something that is in the text. */
export interface RepoContextItem {
	kind: string;
	id: string;
	title: string;
	chars: number;
}

/** Something that is not in the text. */
export interface RepoLeftOut {
	kind: string;
	id: string;
	title: string;
	why: string;
}

/** What a run did, or with `dry_run` would do. */
export interface Report {
	run: string;
	dry_run: boolean;
	seconds: number;
	counts: Record<string, number>;
	actions: Array<ActionTaken>;
	attention: Array<ReportedNotice>;
}

/** A notice: something that needs the user's attention. */
export interface ReportedNotice {
	kind: string;
	path: string;
	line: number | null;
	message: string;
	hint: string;
}

/** The resolved conflict, and those that are still open. */
export interface ResolveResult {
	conflicts: Array<ShownConflict>;
	resolved: ShownConflict;
}

/** A run that changed something. */
export interface RunSummary {
	run: string;
	at: string;
	kind: string;
	counts: Record<string, number>;
}

/** A fact whose text is that of another one. */
export interface SameText {
	id: string;
	title: string;
	date: string;
}

/** The outcome of proposals that the user answered. */
export interface SettledProposals {
	proposals: Array<ShownProposal>;
	run: string | null;
	attention: Array<ReportedNotice>;
}

/** What a proposal would do to one fact, as surfaces show it. */
export interface ShownChange {
	fact_id: string;
	path: string | null;
	title: string;
	before: Record<string, unknown>;
	after: Record<string, unknown> | null;
}

/** A conflict as surfaces show it. */
export interface ShownConflict {
	id: string;
	fact_id: string;
	path: string;
	conflict_path: string | null;
	fields: Array<FieldConflict>;
}

/** A second version of a note, which a sync tool saved next to it. */
export interface ShownCopy {
	path: string;
	note: string;
	fact_id: string;
}

/** An observation with its original and its classification, which its note does not show. */
export interface ShownObservation {
	id: string;
	tier: string;
	status: string;
	content: string;
	created_at: string;
	path: string | null;
	context: string | null;
	original: string;
	compressed: boolean;
	why: Array<string>;
}

/** A proposal as surfaces show it. */
export interface ShownProposal {
	id: string;
	kind: string;
	title: string;
	path: string | null;
	created_at: string;
	expires_at: string;
	changes: Array<ShownChange>;
	why: string;
	proposer: string;
	outcome: string;
	run: string;
	changed_since: Array<string>;
}

/** A candidate of a stage, and its score there. */
export interface StageCandidate {
	id: string;
	score: number;
}

/** The daemon's measurements since it was first started on this vault. */
export interface Telemetry {
	since: string;
	write_through: TimePercentiles | null;
	note_to_store: TimePercentiles | null;
	recall: Record<string, TimePercentiles>;
	edits: number;
	conflicts: number;
	conflicts_per_1000_edits: number;
	longest_lag_seconds: number;
	restarts: number;
	crashes: number;
}

/** Durations in seconds; the percentiles are of the newest 512. */
export interface TimePercentiles {
	count: number;
	p50: number;
	p95: number;
	p99: number;
}

/** What went wrong. */
export interface Trouble {
	examples?: Array<string>;
	hint: string;
	kind: string;
	message: string;
	run?: string;
}

/** How useful a fact is; these values are not in its note. */
export interface UseSignals {
	accessCount: number;
	lastAccessedAt: string | null;
	decayFactor: number | null;
	importance: number | null;
	utility: number;
}

/** The result of `verify`: whether vault, store and base are equal, or where they differ. */
export interface Verification {
	equal: boolean;
	checked: number;
	differences: Array<Difference>;
	held: Array<Difference>;
}

/** One version of a fact. */
export interface Version {
	id: string;
	title: string;
	path: string | null;
	createdAt: string;
}
