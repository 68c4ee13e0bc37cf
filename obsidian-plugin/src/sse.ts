/** Server-sent events: pieces of text, cut anywhere -> whole events. */

export interface Event {
	kind: string;
	data: unknown;
}

/** Reads a stream piece by piece. Comments are dropped; so is an event whose data is no JSON. */
export class EventReader {
	/** The pieces of a line that has not ended: a line of megabytes comes in hundreds of them. */
	private rest: string[] = [];
	private kind = "";
	private data: string[] = [];

	/** The events that are whole, now that this piece is there. */
	read(piece: string): Event[] {
		const found: Event[] = [];
		const open = !this.rest[this.rest.length - 1]?.endsWith("\r");
		this.rest.push(piece);
		if (open && !/[\r\n]/.test(piece)) return found;
		const lines = this.rest.join("").split(/\r\n|\n|\r(?!$)/);
		this.rest = [lines.pop() ?? ""];
		for (const line of lines) {
			if (line === "") this.finish(found);
			else if (!line.startsWith(":")) this.field(line);
		}
		return found;
	}

	private field(line: string): void {
		const colon = line.indexOf(":");
		const name = colon < 0 ? line : line.slice(0, colon);
		const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
		if (name === "event") this.kind = value;
		else if (name === "data") this.data.push(value);
	}

	private finish(found: Event[]): void {
		const text = this.data.join("\n");
		const kind = this.kind || "message";
		this.kind = "";
		this.data = [];
		if (text === "") return;
		try {
			found.push({ kind, data: JSON.parse(text) as unknown });
		} catch {
			// Half an event, of a stream that was cut: the next status says what it would have.
		}
	}
}
