/** Two texts side by side, as a table; one under the other where there is little room. */

import { folded, sideBySide, type Cell, type Row } from "../diff";
import { many } from "../words";
import { icon } from "./parts";

export interface Compared {
	left: string;
	right: string;
	leftName: string;
	rightName: string;
	/** What is compared, for a screen reader. */
	field: string;
	/** What the sides are, if not the user's and an agent's. */
	sides?: Sides;
}

/** Of the left side and the right: icons, and words that are short enough for the margin. */
export interface Sides {
	icons: readonly [string, string];
	short: readonly [string, string];
}

const YOU_AND_AGENT: Sides = { icons: ["user", "bot"], short: ["You", "Agent"] };
export const NOW_AND_NEW: Sides = { icons: ["file-text", "sparkles"], short: ["Now", "New"] };
export const OLD_AND_NEW: Sides = { icons: ["history", "file-text"], short: ["Old", "New"] };

export function drawDiff(parent: HTMLElement, compared: Compared): void {
	const table = parent.createEl("table", { cls: "vaultsync-diff", attr: { "aria-label": `${compared.field}: both versions` } });
	const single = !compared.left.includes("\n") && !compared.right.includes("\n");
	table.toggleClass("is-single", single);
	const columns = table.createEl("colgroup");
	for (const cls of ["vaultsync-line", "", "vaultsync-line", ""]) columns.createEl("col", { cls });
	const head = table.createEl("thead").createEl("tr");
	const { icons, short } = compared.sides ?? YOU_AND_AGENT;
	heading(head, icons[0], compared.leftName, "left");
	heading(head, icons[1], compared.rightName, "right");
	const body = table.createEl("tbody");
	for (const block of folded(sideBySide(compared.left, compared.right))) {
		if (block.fold) drawFold(body, block.rows, single);
		else for (const row of block.rows) drawRow(body, row, short, single);
	}
}

function heading(parent: HTMLElement, name: string, words: string, side: string): void {
	const el = parent.createEl("th", { attr: { colspan: "2", scope: "col", "data-side": side } });
	icon(el, name);
	el.appendText(words);
}

function drawFold(body: HTMLElement, rows: readonly Row[], single: boolean): void {
	const line = body.createEl("tr", { cls: "vaultsync-fold" });
	const cell = line.createEl("td", { attr: { colspan: "4" } });
	const words = many(rows.length, "equal line", "equal lines");
	const el = cell.createEl("button", { cls: "vaultsync-link", text: words, attr: { type: "button", "aria-label": `Show ${words}` } });
	el.addEventListener("click", () => {
		const made = rows.map((row) => drawRow(body, row, ["", ""], single));
		line.after(...made);
		line.remove();
		// The button is gone: else the keyboard would begin again at the top of the app.
		made[0]?.setAttr("tabindex", "-1");
		made[0]?.focus({ preventScroll: true });
	});
}

function drawRow(body: HTMLElement, row: Row, short: Sides["short"], single: boolean): HTMLElement {
	const el = body.createEl("tr", { attr: { "data-kind": row.kind } });
	drawCell(el, row.left, ["left", short[0]], row.kind !== "same", single);
	drawCell(el, row.right, ["right", short[1]], row.kind !== "same", single);
	return el;
}

function drawCell(parent: HTMLElement, cell: Cell | null, [side, name]: readonly [string, string], differs: boolean, single: boolean): void {
	const number = parent.createEl("td", { cls: "vaultsync-line", attr: { "aria-hidden": "true", "data-side": side, "data-name": name } });
	const text = parent.createEl("td", { cls: "vaultsync-text", attr: { "data-side": side } });
	if (!cell) {
		text.addClass("is-missing");
		number.addClass("is-missing");
		return;
	}
	if (!single) number.setText(String(cell.line));
	// In a narrow pane there are no headings, and the margin is not read out.
	if (differs) text.createSpan({ cls: "vaultsync-unseen", text: `${name}: ` });
	const own = cell.pieces.every((piece) => piece.own);
	for (const piece of cell.pieces) {
		if (piece.own && differs && !own) text.createEl("mark", { text: piece.text });
		else text.appendText(piece.text);
	}
	if (cell.pieces.every((piece) => piece.text === "")) text.appendText(single ? "nothing" : " ");
}
