/** The facts that the user picked for a context pack. */

import type { Context, Fact } from "./answers";

export interface Pick {
	id: string;
	title: string;
	text: string;
	/** An estimate: the daemon counts only what it packs itself. */
	tokens: number;
	citation: string;
}

/** Characters per token of common tokenizers on English prose, on the careful side. */
const PER_TOKEN = 3.5;

export class Picks {
	private readonly byId = new Map<string, Pick>();
	private readonly listeners = new Set<() => void>();

	get all(): Pick[] {
		return [...this.byId.values()];
	}

	get tokens(): number {
		return this.all.reduce((sum, pick) => sum + pick.tokens, 0);
	}

	has(id: string): boolean {
		return this.byId.has(id);
	}

	add(fact: Fact): void {
		const citation = fact.path ?? fact.id;
		const text = `### ${fact.title}\n\n*${citation}*\n\n${fact.content}`;
		this.byId.set(fact.id, { id: fact.id, title: fact.title, text, citation, tokens: estimate(text) });
		this.tell();
	}

	remove(id: string): void {
		this.byId.delete(id);
		this.tell();
	}

	/** Listen to changes. Returns a function that stops it. */
	listen(told: () => void): () => void {
		this.listeners.add(told);
		return () => this.listeners.delete(told);
	}

	private tell(): void {
		for (const told of this.listeners) told();
	}
}

/** The estimated number of tokens of a text. */
export function estimate(text: string): number {
	return Math.ceil(text.length / PER_TOKEN);
}

/** The whole pack as one text: what was picked and is not in it yet, then what the daemon packed. */
export function wholePack(picks: readonly Pick[], pack: Context | null): string {
	const packed = new Set(pack?.items.map((item) => item.id));
	const own = picks.filter((pick) => !packed.has(pick.id)).map((pick) => pick.text);
	const parts = own.length > 0 ? [`## Picked\n\n${own.join("\n\n")}`] : [];
	if (pack && pack.items.length > 0) parts.push(pack.text);
	return parts.join("\n\n");
}
