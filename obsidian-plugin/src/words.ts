/** Formats values and times for display. */

import type { ConflictField, HiddenMatches, ObservationCounts, Side, Telemetry, Times } from "./answers";

export const TYPES = [
	"fact", "note", "decision", "commitment", "lesson", "preference", "task", "observation",
	"episodic", "correction", "convention", "person", "project", "entity",
] as const;

export type Tier = "critical" | "notable" | "background";
export const TIERS: Record<Tier, { priority: number; label: string }> = {
	critical: { priority: 0, label: "Critical" },
	notable: { priority: 2, label: "Notable" },
	background: { priority: 4, label: "Background" },
};

/** The tier of a priority: 0 is critical, 1 and 2 are notable, the rest is background. */
export function tierOf(priority: number): Tier {
	if (priority <= 0) return "critical";
	return priority <= 2 ? "notable" : "background";
}

/** The value of a field as text: a list has a line for each element. */
export function shown(value: unknown): string {
	if (value === null || value === undefined) return "";
	if (typeof value === "string") return value;
	if (Array.isArray(value)) return value.map(shown).join("\n");
	return JSON.stringify(value, null, 2);
}

const FIELDS: Record<string, string> = { note: "Note", createdAt: "Created", updatedAt: "Updated", agentId: "Agent", supersedesId: "Supersedes", supersededById: "Superseded by" };

/** The name of a field, as a heading: `decisionOutcome` is “Decision outcome”. */
export function fieldName(field: string): string {
	const known = FIELDS[field];
	if (known !== undefined) return known;
	return capital(field.replace(/[._-]/g, " ").replace(/([a-z])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`));
}

/** A text with a capital letter first. */
export function capital(text: string): string {
	return text.charAt(0).toUpperCase() + text.slice(1);
}

const KINDS: Record<string, string> = {
	write: "Write by an agent", duplicates: "Duplicates", contradiction: "Contradiction", consolidation: "Repeated observations",
	link: "Missing note", retype: "Different type", retitle: "Better title", junk: "Never used",
};

/** The kind of a proposal, as a label. */
export function kindWords(kind: string): string {
	return KINDS[kind] ?? fieldName(kind);
}

/** A conflict in which one side deleted what the other changed: in words, and which side keeps the note. */
export interface Deletion {
	said: string;
	keep: Side;
	drop: Side;
}

/** What a field says when it stands for a deletion; null when it is a field. */
export function deletionOf({ field, vault, store }: ConflictField): Deletion | null {
	if (field !== "note") return null;
	if (vault === "changed" && store === "deleted") {
		const said = "An agent deleted this fact while you changed its note. An edit takes precedence over a deletion, so your note was kept.";
		return { said, keep: "vault", drop: "store" };
	}
	if (vault === "deleted" && store === "changed") {
		const said = "You deleted this note while an agent changed it. An edit takes precedence over a deletion, so the note was restored.";
		return { said, keep: "store", drop: "vault" };
	}
	return null;
}

/** How long ago, in words; `now` and `at` are moments in milliseconds and ISO 8601. */
export function ago(at: string, now: number): string {
	const seconds = Math.round((now - Date.parse(at)) / 1000);
	if (Number.isNaN(seconds)) return at;
	if (seconds < 10) return "just now";
	const steps: [number, string][] = [[60, "second"], [60, "minute"], [24, "hour"], [7, "day"]];
	let amount = seconds;
	for (const [size, unit] of steps) {
		if (amount < size) return `${amount} ${unit}${amount === 1 ? "" : "s"} ago`;
		amount = Math.floor(amount / size);
	}
	return at.slice(0, 10);
}

/** The name of a note, without folder and ending. */
export function nameOf(path: string): string {
	return path.slice(path.lastIndexOf("/") + 1).replace(/\.md$/, "");
}

/** The scopes that a vault's top folders are. */
export function scopesOf(folders: readonly string[]): string[] {
	return folders.filter((name) => /^((private|team|project)-.+|public)$/.test(name)).sort();
}

/** A number and what it counts. */
export function many(count: number, one: string, more: string): string {
	return `${count.toLocaleString("en")} ${count === 1 ? one : more}`;
}

/** A count of bytes, short. */
export function size(bytes: number): string {
	return bytes < 1000 ? `${bytes} B` : `${(bytes / 1000).toFixed(bytes < 10_000 ? 1 : 0)} kB`;
}

const COUNTS: readonly (readonly [key: string, one: string, more: string])[] = [
	["created_in_vault", "new note", "new notes"],
	["updated_in_vault", "note changed", "notes changed"],
	["deleted_in_vault", "note removed", "notes removed"],
	["created_in_store", "new fact", "new facts"],
	["updated_in_store", "fact changed", "facts changed"],
	["deleted_in_store", "fact forgotten", "facts forgotten"],
	["moved", "moved", "moved"],
	["merged", "merged", "merged"],
	["conflicts", "conflict", "conflicts"],
];

/** What a run did, in words. */
export function passWords(counts: Record<string, number>): string {
	const done = COUNTS.map(([key, one, more]) => [counts[key] ?? 0, one, more] as const)
		.filter(([count]) => count > 0)
		.map(([count, one, more]) => many(count, one, more));
	return done.length === 0 ? "nothing to do" : done.join(" · ");
}

/** A time in milliseconds, or in seconds from one on. */
export function duration(seconds: number): string {
	return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`;
}

function timesWords({ p50, p95, p99 }: Times): string {
	if (duration(p50) === duration(p99)) return duration(p50);
	return `${duration(p50)}; 95 % within ${duration(p95)}, 99 % within ${duration(p99)}`;
}

const SOURCES: Record<string, string> = {
	index: "by keyword search", vector: "by semantic search", fused: "by hybrid search", set: "of a set", "index-files": "in index files",
};

/** How an answer was found: "by keyword search". */
export function sourceWords(source: string): string {
	return SOURCES[source] ?? source;
}

const HIDDEN: Record<string, string> = { background: "with background priority", branch: "of other branches" };

/** How many facts match and are left out by a default, and why; empty for none. */
export function hiddenWords(hidden: readonly HiddenMatches[]): string {
	if (hidden.length === 0) return "";
	const total = hidden.reduce((sum, { count }) => sum + count, 0);
	const why = hidden.map(({ count, reason }) => `${count.toLocaleString("en")} ${HIDDEN[reason] ?? reason}`).join(", ");
	return `${many(total, "more fact is", "more facts are")} hidden: ${why}.`;
}

/** How many observations there are of each tier; empty for none. */
export function observationRows(found: ObservationCounts): [string, string][] {
	const rows: [string, string][] = [];
	if (found.pending > 0) {
		const since = found.oldest_pending === null ? "" : `, the oldest of ${found.oldest_pending.slice(0, 10)}`;
		rows.push(["To classify", `${found.pending.toLocaleString("en")}${since}`]);
	}
	for (const tier of ["critical", "notable", "background"] as const) {
		const archived = tier === "background" ? ` (${found.compressed.toLocaleString("en")} archived)` : "";
		if (found[tier] > 0) rows.push([capital(tier), `${found[tier].toLocaleString("en")}${archived}`]);
	}
	return rows;
}

/** What a daemon measured of itself, as rows of a name and words; none for what was not measured. */
export function telemetryWords(found: Telemetry): [string, string][] {
	const rows: [string, string][] = [];
	if (found.write_through !== null) rows.push(["Fact to note", timesWords(found.write_through)]);
	if (found.note_to_store !== null) rows.push(["Note to fact", timesWords(found.note_to_store)]);
	for (const [source, times] of Object.entries(found.recall)) rows.push([source === "context" ? "Context packs" : `Recall ${sourceWords(source)}`, timesWords(times)]);
	if (found.edits > 0) rows.push(["Conflicts", `${found.conflicts.toLocaleString("en")} in ${many(found.edits, "edit", "edits")}`]);
	rows.push(["Longest delay", duration(found.longest_lag_seconds)]);
	const crashes = found.crashes > 0 ? `, ${found.crashes} after a crash` : "";
	rows.push(["Restarts", `${found.restarts}${crashes}`]);
	return rows;
}
