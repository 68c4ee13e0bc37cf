/** A dialog that shows what differs between any two versions of a fact. */

import { Modal, type App } from "obsidian";
import type { Change } from "../answers";
import { between, byRun } from "../versions";
import { ago, fieldName, shown } from "../words";
import { drawDiff, OLD_AND_NEW } from "./diff-table";
import { choice } from "./parts";

class Compare extends Modal {
	private readonly runs;
	private diffEl!: HTMLElement;

	constructor(
		app: App,
		title: string,
		private readonly history: readonly Change[],
		private one: number,
		private other: number,
	) {
		super(app);
		this.runs = byRun(history).reverse();
		this.setTitle(`Versions of ${title}`);
		this.modalEl.addClass("vaultsync-compare");
	}

	override onOpen(): void {
		this.contentEl.addClass("vaultsync-view");
		const versions = [0, ...this.runs.map((_, index) => index + 1)].reverse();
		const options = versions.map((version) => [String(version), this.name(version)] as const);
		const row = this.contentEl.createDiv({ cls: "vaultsync-filters" });
		choice(row, "Older version", options, String(this.one), (value) => {
			this.one = Number(value);
			this.draw();
		});
		choice(row, "Newer version", options, String(this.other), (value) => {
			this.other = Number(value);
			this.draw();
		});
		this.diffEl = this.contentEl.createDiv({ cls: "vaultsync-body" });
		this.draw();
		row.querySelector("select")?.focus();
	}

	private name(version: number): string {
		const run = this.runs[version - 1];
		if (!run) return "Before the first change";
		const who = [...new Set(run.changes.map(({ actor }) => actor))].join(", ");
		const words = `${ago(run.at, Date.now())}, by ${who}`;
		return version === this.runs.length ? `Now: ${words}` : `${version}: ${words}`;
	}

	private draw(): void {
		this.diffEl.empty();
		const [older, newer] = [Math.min(this.one, this.other), Math.max(this.one, this.other)];
		const fields = between(this.history, older, newer);
		if (fields.length === 0) this.diffEl.createDiv({ cls: "vaultsync-muted", text: "The two versions are equal." });
		for (const { field, before, after } of fields) {
			const el = this.diffEl.createEl("section", { cls: "vaultsync-section" });
			el.createEl("h4", { text: fieldName(field) });
			drawDiff(el, {
				left: shown(before),
				right: shown(after),
				leftName: this.name(older),
				rightName: this.name(newer),
				field: fieldName(field),
				sides: OLD_AND_NEW,
			});
		}
	}
}

/** Show what differs between two versions; a version is how many runs made it. */
export function compare(app: App, title: string, history: readonly Change[], one: number, other: number): void {
	new Compare(app, title, history, one, other).open();
}
