/** What a proposal would do, in words and fields, and the queue of answers to proposals. */

import type { Proposal, ProposedChange } from "./answers";
import type { Verdict } from "./client";
import { shown } from "./words";

/** What a proposal would do to one fact. */
export function verbOf(change: ProposedChange): "Delete" | "New" | "Change" | "Keep" {
	if (change.after === null) return "Delete";
	if (Object.keys(change.before).length === 0) return "New";
	return Object.keys(change.after).length === 0 ? "Keep" : "Change";
}

export interface ProposedField {
	field: string;
	before: string;
	after: string;
}

/** The fields that a change sets, or what is deleted or kept with a fact; other facts of the proposal by their titles. */
export function fieldsOf({ before, after }: ProposedChange, { changes }: Pick<Proposal, "changes">): ProposedField[] {
	const titles = new Map<unknown, string>(changes.map(({ fact_id: id, title }) => [id, title]));
	const words = (value: unknown): string => titles.get(value) ?? shown(value);
	const keys = Object.keys(after === null || Object.keys(after).length === 0 ? before : after).sort();
	return keys.map((field) => ({ field, before: words(before[field]), after: words(after?.[field]) }));
}

/** The kinds that occur, each with its proposals, in order of appearance. */
export function byKind(proposals: readonly Proposal[]): Map<string, Proposal[]> {
	const kinds = new Map<string, Proposal[]>();
	for (const proposal of proposals) kinds.set(proposal.kind, [...(kinds.get(proposal.kind) ?? []), proposal]);
	return kinds;
}

/** The proposals that one answer is for: one or more. */
export type Ids = readonly [string, ...string[]];

/**
 * Sends answers one after the other, so that the user need not wait for one to give the next.
 *
 * What is answered together is one run, which can be undone; two answers never share one.
 */
export class AnswerQueue {
	private readonly waiting: { ids: Ids; verdict: Verdict }[] = [];
	private sending: Ids | null = null;

	constructor(
		/** Sends an answer; does not throw. */
		private readonly send: (ids: Ids, verdict: Verdict) => Promise<unknown>,
		/** Called when an answer was sent. */
		private readonly sent: () => void,
	) {}

	/** How many proposals are answered, and wait to be sent. */
	get count(): number {
		return this.waiting.reduce((sum, { ids }) => sum + ids.length, this.sending?.length ?? 0);
	}

	/** Whether a proposal is answered, and its answer still on the way. */
	has(id: string): boolean {
		return this.sending?.includes(id) === true || this.waiting.some(({ ids }) => ids.includes(id));
	}

	add(ids: Ids, verdict: Verdict): void {
		this.waiting.push({ ids, verdict });
		if (this.sending === null) void this.run();
	}

	private async run(): Promise<void> {
		for (let next = this.waiting.shift(); next; next = this.waiting.shift()) {
			this.sending = next.ids;
			await this.send(next.ids, next.verdict);
			this.sending = null;
			this.sent();
		}
	}
}
