/** The id line of a note: the only line that adoption adds. */

const BOM = "\uFEFF";

/** A note that has an id already, or frontmatter that cannot be added to. */
export class NotAdoptable extends Error {
	override name = "NotAdoptable";
}

/** Where the frontmatter of a note begins and ends: after `---` and before the next. */
function frontmatter(text: string): { from: number; to: number; end: string } | null {
	const opened = /^\uFEFF?---[ \t]*(\r?\n)/.exec(text);
	if (!opened) return null;
	const from = opened[0].length;
	const closed = /^(---|\.\.\.)[ \t]*$/m.exec(text.slice(from));
	if (!closed) return null;
	return { from, to: from + closed.index, end: opened[1] ?? "\n" };
}

/** The id of the fact that a note with this property `id` is; null for the id of another program, which may be the name of a fact. */
export function factId(property: unknown): string | null {
	const id = typeof property === "string" ? property.trim().toLowerCase() : "";
	return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id) ? id : null;
}

/**
 * The note with an id, and not a byte else changed.
 *
 * Throws NotAdoptable when it has an id already, whether vaultsync or another program made it.
 */
export function withId(text: string, id: string): string {
	const found = frontmatter(text);
	if (!found) {
		const end = text.includes("\r\n") ? "\r\n" : "\n";
		const bom = text.startsWith(BOM) ? BOM : "";
		return `${bom}---${end}id: ${id}${end}---${end}${end}${text.slice(bom.length)}`;
	}
	if (/^["']?id["']?[ \t]*:/m.test(text.slice(found.from, found.to))) {
		throw new NotAdoptable("This note already has an id.");
	}
	return `${text.slice(0, found.from)}id: ${id}${found.end}${text.slice(found.from)}`;
}
