/** The versions of a fact, and what differs between any two of them, out of its history. */

import type { Change } from "./answers";

/** What one run changed of a fact. */
export interface Run {
	run: string;
	at: string;
	changes: Change[];
}

/** Changes by the run that made them, the newest first. */
export function byRun(changes: readonly Change[]): Run[] {
	const runs = new Map<string, Run>();
	for (const change of changes) {
		const run = runs.get(change.run) ?? { run: change.run, at: change.at, changes: [] };
		run.changes.push(change);
		runs.set(change.run, run);
	}
	return [...runs.values()].reverse();
}

export interface ChangedField {
	field: string;
	before: unknown;
	after: unknown;
}

/**
 * What differs between two versions: the fields that runs between them changed, as they were and became.
 *
 * A version is the number of runs that made it: 0 is before the first, and `byRun(…).length` is now.
 */
export function between(changes: readonly Change[], one: number, other: number): ChangedField[] {
	const [from, to] = one < other ? [one, other] : [other, one];
	const runs = byRun(changes).reverse().slice(from, to);
	const fields = new Map<string, ChangedField>();
	for (const { field, before, after } of runs.flatMap((run) => run.changes)) {
		const known = fields.get(field);
		if (known) known.after = after;
		else fields.set(field, { field, before, after });
	}
	const differ = ({ before, after }: ChangedField): boolean => JSON.stringify(before) !== JSON.stringify(after);
	return [...fields.values()].filter(differ);
}
