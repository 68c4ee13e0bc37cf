/** Conflict notes and proposals, as far as their notes tell: what is left where there is no daemon. */

export type Reviewed = "conflict" | "proposal";

export interface ReviewNote {
	path: string;
	kind: Reviewed;
	title: string;
	/** The kind of a proposal; "" of a conflict. */
	proposal: string;
	/** When a proposal expires, as a time; "" of a conflict. */
	expires: string;
	/** The labels of the boxes that are ticked: the next sync does what they say. */
	ticked: string[];
	/** The note without properties, title and boxes. */
	body: string;
}

const SUFFIXES: Record<Reviewed, string> = { conflict: ".conflict.md", proposal: ".proposal.md" };
const BOX = /^ {0,3}[-*+] +\[(.)\] (.*?)<!-- *vaultsync:take [\w]+=[\w.%]+ *-->\s*$/;

/** Whether a file is such a note, by its properties: the user may have renamed it. Before they are known, by its name. */
export function isReviewNote(path: string, properties: Record<string, unknown> | undefined, kind: Reviewed): boolean {
	return properties ? properties["vaultsync"] === kind && !("id" in properties) : path.toLowerCase().endsWith(SUFFIXES[kind]);
}

/** What the text of such a note says; null when it is none. */
export function reviewNote(path: string, text: string, kind: Reviewed): ReviewNote | null {
	const [first = "", ...lines] = text.replace(/^\uFEFF/, "").replace(/\r\n/g, "\n").split("\n");
	const end = lines.findIndex((line) => line.trimEnd() === "---");
	if (first.trimEnd() !== "---" || end < 0) return null;
	const properties = new Map(lines.slice(0, end).map(property));
	if (properties.get("vaultsync") !== kind || !/^[0-9a-f]{16}$/.test(properties.get(kind) ?? "")) return null;
	const ticked: string[] = [];
	const body: string[] = [];
	let title = "";
	let fence = "";
	for (const line of lines.slice(end + 1)) {
		const mark = /^(`{3,})/.exec(line)?.[1] ?? "";
		const fenced = fence !== "";
		if (fenced ? line === fence : mark !== "") fence = fenced ? "" : mark;
		const box = fenced ? null : BOX.exec(line);
		const heading = fenced || title !== "" ? null : /^# (.*)$/.exec(line);
		if (heading) title = bare(heading[1] ?? "").replace(/^(Conflict|Proposal): /, "");
		else if (!box) body.push(line);
		else if (/[xX]/.test(box[1] ?? "")) ticked.push(bare((box[2] ?? "").trimEnd()));
	}
	return {
		path,
		kind,
		title,
		proposal: properties.get("kind") ?? "",
		expires: properties.get("expires") ?? "",
		ticked,
		body: body.join("\n").replace(/\n{3,}/g, "\n\n").trim(),
	};
}

function property(line: string): [string, string] {
	const colon = line.indexOf(":");
	return [line.slice(0, Math.max(0, colon)).trim(), line.slice(colon + 1).trim().replace(/^(["'])(.*)\1$/, "$2")];
}

/** Text without backslashes and bold: it is shown as text. */
function bare(text: string): string {
	return text.replace(/\*\*/g, "").replace(/\\(.)/g, "$1");
}
