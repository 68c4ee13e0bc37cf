/**
 * Writes that the daemon hands over: applied through the app, or refused.
 *
 * A write names the bytes that it replaces. It is refused when the file has others, and when an editor
 * holds text that is not saved. The daemon may then write the file itself, against the same expectation.
 */

import type { Write } from "./answers";

/** The outcome of a write. */
export interface Came {
	applied: boolean;
	/**
	 * The sha256 of what the app holds, unsaved text included. Null when there is no such file, and when
	 * the app cannot do it: the daemon then writes the file itself.
	 */
	found: string | null;
	reason: "" | Refused;
}

export type Refused = "path" | "missing" | "exists" | "changed" | "unsaved" | "text" | "failed";

/** The vault, as the app lets us change it. Paths are those of the app: vault-relative, `/`. */
export interface AppVault {
	/** The bytes of a file; null when there is none. */
	read(path: string): Promise<ArrayBuffer | null>;
	exists(path: string): boolean;
	/** The texts of all editors that have this file open. */
	editors(path: string): string[];
	/** Replace a text in one step; `change` sees what is there and may throw. */
	process(path: string, change: (found: string) => string): Promise<void>;
	rename(path: string, to: string): Promise<void>;
}

export type Digest = (bytes: ArrayBuffer) => Promise<string>;

class Refusal extends Error {
	constructor(
		readonly why: Refused,
		/** The hash of what was found instead; null when it is unknown. */
		readonly instead: string | null = null,
	) {
		super(why);
	}
}

/** Applies writes one after the other, so that each sees what the last one left. */
export class Writes {
	private last: Promise<unknown> = Promise.resolve();

	constructor(
		private readonly vault: AppVault,
		private readonly digest: Digest,
	) {}

	/** Apply, or refuse; never throws. */
	apply(write: Write): Promise<Came> {
		const came = this.last.then(() => this.attempt(write));
		this.last = came;
		return came;
	}

	private async attempt(write: Write): Promise<Came> {
		try {
			const paths = [write.path, ...(write.to === null ? [] : [write.to])];
			if (!paths.every(isNotePath)) throw new Refusal("path");
			const bytes = await this.vault.read(write.path);
			if (bytes === null) throw new Refusal("missing");
			const found = await this.digest(bytes);
			if (found !== write.expect) return { applied: false, found, reason: "changed" };
			await this.carryOut(write, bytes);
			return { applied: true, found, reason: "" };
		} catch (error) {
			if (!(error instanceof Refusal)) return { applied: false, found: null, reason: "failed" };
			const { instead, why } = error;
			const found = instead === null ? null : await this.digest(encoded(instead));
			return { applied: false, found, reason: why };
		}
	}

	private async carryOut(write: Write, bytes: ArrayBuffer): Promise<void> {
		const seen = decoded(bytes);
		this.refuseUnsaved(write.path, seen);
		if (write.action === "modify") {
			const text = textOf(write);
			if (text === seen) return; // The daemon asks only whether an editor has another text.
			return this.vault.process(write.path, (now) => {
				if (now !== seen) throw new Refusal("changed", now);
				this.refuseUnsaved(write.path, seen);
				return text;
			});
		}
		if (write.to === null) throw new Refusal("path");
		if (write.text !== null) throw new Refusal("text");
		if (this.vault.exists(write.to)) throw new Refusal("exists");
		return this.vault.rename(write.path, write.to);
	}

	private refuseUnsaved(path: string, seen: string): void {
		const unsaved = this.vault.editors(path).find((text) => lines(text) !== lines(seen));
		if (unsaved !== undefined) throw new Refusal("unsaved", unsaved);
	}
}

function textOf(write: Write): string {
	if (write.text === null) throw new Refusal("text");
	return write.text;
}

/** Whether a path is a visible markdown file inside the vault. */
export function isNotePath(path: string): boolean {
	const parts = path.split("/");
	return path.toLowerCase().endsWith(".md") && !path.includes("\\") && parts.every((part) => part !== "" && !part.startsWith("."));
}

/** The text of a note, its byte order mark included. Throws when it is not UTF-8. */
export function decoded(bytes: ArrayBuffer): string {
	try {
		return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
	} catch {
		throw new Refusal("text");
	}
}

function encoded(text: string): ArrayBuffer {
	return new TextEncoder().encode(text).buffer;
}

/** A text as an editor holds it: an editor knows one kind of line end. */
function lines(text: string): string {
	return text.replace(/\r\n?/g, "\n").replace(/^\uFEFF/, "");
}
