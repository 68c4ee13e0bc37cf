/** The paragraph that the user is writing, as a question to the memory. */

/** The lines of an editor. */
export interface Lines {
	lineCount(): number;
	getLine(line: number): string;
}

/** Characters of a question, and words that it must have. */
const LONGEST = 400;
const FEWEST = 3;
/** Characters of a paragraph that are looked at, from its end: patterns take quadratic time in a line of brackets. */
const READ = 8 * LONGEST;

/**
 * The text of the paragraph around a line, without markup; "" where there is too little to ask by.
 *
 * Properties and code are left out: they are no prose, and match by accident.
 */
export function paragraphAt(lines: Lines, at: number): string {
	const prose = proseOf(lines);
	if (prose[at] !== true) return "";
	let from = at;
	while (prose[from - 1] === true && !begins(lines.getLine(from)) && !isHeading(lines.getLine(from - 1))) from--;
	let to = at;
	while (prose[to + 1] === true && !isHeading(lines.getLine(to)) && !begins(lines.getLine(to + 1))) to++;
	const found = plain(Array.from({ length: to - from + 1 }, (_, index) => lines.getLine(from + index)).join(" "));
	return found.split(" ").length < FEWEST ? "" : found;
}

/** Which lines are prose: neither empty, nor properties, nor code. */
function proseOf(lines: Lines): boolean[] {
	let fence = "";
	return Array.from({ length: lines.lineCount() }, (_, line) => {
		const text = lines.getLine(line).trimEnd();
		if (fence !== "") {
			const closed = text.trimStart();
			if (closed.startsWith(fence) && /^(`+|~+|---)$/.test(closed)) fence = "";
			return false;
		}
		fence = line === 0 && text === "---" ? text : (/^\s{0,3}(`{3,}|~{3,})/.exec(text)?.[1] ?? "");
		return fence === "" && text !== "";
	});
}

function isHeading(line: string): boolean {
	return /^#{1,6}\s/.test(line);
}

/** Whether a line begins a paragraph of its own: a heading, an item of a list. */
function begins(line: string): boolean {
	return isHeading(line) || /^\s*([-*+]|\d+[.)])\s/.test(line);
}

/**
 * Text without the marks of markdown, of bounded length.
 *
 * A colon goes, too: `since: May` in a note is prose, and in a question a filter.
 */
function plain(text: string): string {
	const words = text
		.slice(-READ)
		.replace(/!?\[\[([^\]|]*\|)?([^\]]*)\]\]/g, "$2")
		.replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
		.replace(/<!--.*?-->|https?:\/\/\S+/g, " ")
		.replace(/^\s*([-*+]|\d+[.)]|#{1,6}|>)\s+(\[.\]\s+)?/, "")
		.replace(/[*`~]+/g, "")
		.replace(/[#:"|<>=^[\]]+/g, " ")
		.split(/\s+/)
		.filter((word) => word !== "");
	let from = words.length;
	for (let length = 0; from > 0; from--) {
		length += (words[from - 1] ?? "").length + 1;
		if (length > LONGEST) break;
	}
	return words.slice(from).join(" ");
}
