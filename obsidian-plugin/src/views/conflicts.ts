/** Conflicts: each field of a note side by side; take one side, or write a merged text. */

import { Notice } from "obsidian";
import type { Conflict, ConflictCopy, ConflictField, Conflicts, Side } from "../answers";
import type { CopyDecision, Resolution } from "../client";
import { bothOf } from "../diff";
import { VIEWS } from "../host";
import { deletionOf, fieldName, many, shown } from "../words";
import { BridgeView } from "./bridge-view";
import { drawDiff } from "./diff-table";
import { button, empty, firstOf, icon, iconButton, keepingFocus, link, placed, titleOf } from "./parts";

/** How many conflicts are drawn at once. */
const MANY = 30;

const NAMES: Record<Side, string> = { vault: "Yours", store: "The agent’s" };

const SETTLED: Record<CopyDecision, string> = {
	merge: "The copy was merged into its note. What both changed differently is a conflict.",
	keep: "The copy is now a separate note.",
	drop: "The copy was removed; undo the run to restore it.",
};

/** A conflict that is drawn, and what it shows: it stays as long as it would show the same. */
interface Drawn {
	shows: string;
	el: HTMLElement;
}

export class ConflictsView extends BridgeView {
	private shownNow = "";
	private readonly bases = new Set<string>();
	private most = MANY;
	/** Conflicts that are being resolved here: an event may tell of it before the answer does. */
	private readonly resolving = new Set<string>();
	private found: Conflicts = { conflicts: [], copies: [] };
	private drawn = new Map<string, Drawn>();

	override getViewType(): string {
		return VIEWS.conflicts;
	}

	override getDisplayText(): string {
		return "Memory conflicts";
	}

	override getIcon(): string {
		return "git-compare";
	}

	protected override async update(stale: () => boolean): Promise<void> {
		const found = await this.host.bridge.conflicts();
		const now = JSON.stringify(found);
		if (stale() || now === this.shownNow) return;
		this.shownNow = now;
		this.found = found;
		this.redraw();
	}

	private redraw(): void {
		keepingFocus(this.bodyEl, () => {
			const before = this.drawn;
			this.drawn = new Map();
			const made = createDiv();
			this.drawAll(made, before);
			placed(this.bodyEl, Array.from(made.children, (el) => this.drawn.get(el.getAttr("data-key") ?? "")?.el ?? el));
		});
	}

	private drawAll(parent: HTMLElement, before: ReadonlyMap<string, Drawn>): void {
		const { conflicts, copies } = this.found;
		for (const [key, text] of this.leftDrafts()) this.drawLeft(parent, key, text);
		if (conflicts.length + copies.length === 0) {
			empty(parent, "check-check", "No conflicts", "When you and an agent change the same field differently, both versions are shown here.");
			return;
		}
		if (conflicts.length > 0) {
			const words = many(conflicts.length, "note that you and an agent changed", "notes that you and an agent changed");
			parent.createDiv({ cls: "vaultsync-lead", text: `${words} differently. The note keeps your version until you choose.` });
		}
		firstOf(parent, conflicts, this.most, (conflict) => {
			const drawn = this.drawConflict(conflict, before.get(conflict.id));
			this.drawn.set(conflict.id, drawn);
			parent.createDiv({ attr: { "data-key": conflict.id } });
		}, () => {
			this.most += MANY;
			this.redraw();
		});
		if (copies.length > 0) {
			const words = many(copies.length, "copy that a sync tool put beside its note", "copies that a sync tool put beside their notes");
			parent.createDiv({ cls: "vaultsync-lead", text: `${words}. Nothing of ${copies.length === 1 ? "it" : "them"} is synced until you choose.` });
		}
		for (const copy of copies) this.drawCopy(parent, copy);
	}

	/** Texts that were being merged when their conflicts were resolved elsewhere, such as on a phone. */
	private leftDrafts(): [string, string][] {
		const open = new Set(this.found.conflicts.flatMap(({ id, fields }) => fields.map(({ field }) => `${id} ${field}`)));
		return [...this.drafts].filter(([key]) => !open.has(key) && !this.resolving.has(key.split(" ")[0] ?? ""));
	}

	private drawLeft(parent: HTMLElement, key: string, text: string): void {
		const el = parent.createEl("article", { cls: "vaultsync-conflict", attr: { "data-key": key } }).createDiv({ cls: "vaultsync-field" });
		el.createEl("p", { text: "The conflict for which you were merging this text was resolved elsewhere:" });
		el.createEl("pre", { cls: "vaultsync-value", text, attr: { tabindex: "0" } });
		const actions = el.createDiv({ cls: "vaultsync-actions vaultsync-choose" });
		button(actions, "Copy", async () => {
			await navigator.clipboard.writeText(text);
			new Notice("The text was copied.");
		});
		button(actions, "Discard", () => {
			this.drafts.delete(key);
			this.redraw();
		}, "mod-warning");
	}

	private drawCopy(parent: HTMLElement, { path, note }: ConflictCopy): void {
		const el = parent.createEl("article", { cls: "vaultsync-conflict", attr: { "data-key": path } });
		const head = el.createDiv({ cls: "vaultsync-conflict-head" });
		link(head.createEl("h3", { cls: "vaultsync-conflict-title" }), titleOf(this.app, path), () => this.host.openNote(path)).setAttr("aria-label", `Open ${path}`);
		const of = head.createDiv({ cls: "vaultsync-muted", text: "a second version of " });
		link(of, titleOf(this.app, note), () => this.host.openNote(note)).setAttr("aria-label", `Open ${note}`);
		const actions = el.createDiv({ cls: "vaultsync-field" }).createDiv({ cls: "vaultsync-actions vaultsync-choose" });
		button(actions, "Merge into the note", () => this.settle(path, "merge"), "mod-cta");
		button(actions, "Keep as a note", () => this.settle(path, "keep"));
		button(actions, "Drop", () => this.settle(path, "drop"), "mod-warning");
	}

	private drawConflict(conflict: Conflict, known: Drawn | undefined): Drawn {
		const name = conflict.path === null ? "A note that no longer exists" : titleOf(this.app, conflict.path);
		const keys = conflict.fields.map(({ field }) => `${conflict.id} ${field}`);
		const shows = JSON.stringify([name, conflict, keys.map((key) => [this.bases.has(key), this.drafts.has(key)])]);
		if (known?.shows === shows) return known;
		const el = createEl("article", { cls: "vaultsync-conflict", attr: { "data-key": conflict.id } });
		const head = el.createDiv({ cls: "vaultsync-conflict-head" });
		const title = head.createEl("h3", { cls: "vaultsync-conflict-title" });
		const { path } = conflict;
		if (path === null) title.setText(name);
		else link(title, name, () => this.host.openNote(path)).setAttr("aria-label", `Open ${path}`);
		head.createDiv({ cls: "vaultsync-muted", text: many(conflict.fields.length, "field differs", "fields differ") });
		if (conflict.fields.length > 1 && conflict.fields.every((field) => deletionOf(field) === null)) {
			const actions = head.createDiv({ cls: "vaultsync-actions" });
			button(actions, "Keep all mine", () => this.resolve(conflict, { take: "vault" }));
			button(actions, "Take all the agent’s", () => this.resolve(conflict, { take: "store" }));
		}
		for (const field of conflict.fields) this.drawField(el, conflict, field);
		return { shows, el };
	}

	private drawField(parent: HTMLElement, conflict: Conflict, field: ConflictField): void {
		const key = `${conflict.id} ${field.field}`;
		const el = parent.createEl("section", { cls: "vaultsync-field", attr: { "data-key": field.field } });
		const head = el.createDiv({ cls: "vaultsync-field-head" });
		const deletion = deletionOf(field);
		head.createEl("h4", { text: deletion === null ? fieldName(field.field) : "Deleted on one side" });
		if (deletion !== null) {
			const { said, keep, drop } = deletion;
			el.createEl("p", { text: said });
			const choices = el.createDiv({ cls: "vaultsync-actions vaultsync-choose" });
			button(choices, "Keep the note", () => this.resolve(conflict, { take: keep, field: field.field }));
			button(choices, "Delete the note", () => this.resolve(conflict, { take: drop, field: field.field }), "mod-warning");
			return;
		}
		const based = this.bases.has(key);
		const toggle = iconButton(head, "history", based ? "Hide the version before" : "Show the version before", () => {
			if (!this.bases.delete(key)) this.bases.add(key);
			this.redraw();
		});
		toggle.setAttrs({ "aria-pressed": String(based), "data-key": "base" });
		toggle.toggleClass("is-active", based);
		if (based) this.drawBase(el, field);

		drawDiff(el, { left: shown(field.vault), right: shown(field.store), leftName: NAMES.vault, rightName: NAMES.store, field: fieldName(field.field) });

		const draft = this.drafts.get(key);
		if (draft !== undefined) return this.drawMerge(el, conflict, field, draft);
		const actions = el.createDiv({ cls: "vaultsync-actions vaultsync-choose" });
		button(actions, "Keep mine", () => this.resolve(conflict, { take: "vault", field: field.field }));
		button(actions, "Take the agent’s", () => this.resolve(conflict, { take: "store", field: field.field }));
		if (typeof field.vault === "string" && typeof field.store === "string") {
			button(actions, "Merge by hand", () => {
				this.drafts.set(key, bothOf(shown(field.base), shown(field.vault), shown(field.store)));
				this.redraw();
				this.bodyEl.doc.getElementById(areaId(key))?.focus();
			});
		}
	}

	private drawBase(parent: HTMLElement, field: ConflictField): void {
		const el = parent.createDiv({ cls: "vaultsync-base" });
		const head = el.createDiv({ cls: "vaultsync-side-name" });
		icon(head, "history");
		head.appendText("Before");
		el.createEl("pre", { text: shown(field.base) || "nothing", attr: { tabindex: "0" } });
	}

	private drawMerge(parent: HTMLElement, conflict: Conflict, field: ConflictField, draft: string): void {
		const key = `${conflict.id} ${field.field}`;
		const el = parent.createDiv({ cls: "vaultsync-merge" });
		const id = areaId(key);
		el.createEl("label", { cls: "vaultsync-side-name", text: "The merged text", attr: { for: id } });
		const area = el.createEl("textarea", { attr: { id, rows: String(Math.min(20, draft.split("\n").length + 2)), "data-key": "merge" } });
		area.value = draft;
		area.addEventListener("input", () => this.drafts.set(key, area.value));
		const fill = (text: string): void => {
			area.value = text;
			this.drafts.set(key, text);
			area.focus();
		};
		const starts = el.createDiv({ cls: "vaultsync-starts" });
		starts.createSpan({ cls: "vaultsync-muted", text: "Start from" });
		link(starts, "mine", () => fill(shown(field.vault)));
		link(starts, "the agent’s", () => fill(shown(field.store)));
		link(starts, "both", () => fill(bothOf(shown(field.base), shown(field.vault), shown(field.store))));
		const actions = el.createDiv({ cls: "vaultsync-actions" });
		button(actions, "Save merged text", () => this.resolve(conflict, { field: field.field, text: area.value }), "mod-cta");
		button(actions, "Cancel", () => {
			this.drafts.delete(key);
			this.redraw();
		});
	}

	private get drafts(): Map<string, string> {
		return this.host.drafts;
	}

	private async settle(path: string, take: CopyDecision): Promise<void> {
		const done = await this.host.attempt(() => this.host.bridge.settleCopy(path, take));
		if (done) new Notice(SETTLED[take]);
		await this.refresh();
	}

	private async resolve(conflict: Conflict, how: Resolution): Promise<void> {
		this.resolving.add(conflict.id);
		const done = await this.host.attempt(() => this.host.bridge.resolve(conflict.id, how));
		this.resolving.delete(conflict.id);
		this.shownNow = "";
		if (done) {
			for (const { field } of conflict.fields) {
				if (how.field === undefined || how.field === field) this.drafts.delete(`${conflict.id} ${field}`);
			}
			new Notice(told(conflict, how));
		}
		await this.refresh();
	}
}

/** The id of the text field in which a field is merged. */
function areaId(key: string): string {
	return `vaultsync-merge-${key.replace(/\s/g, "-")}`;
}

/** The outcome of a choice, in a sentence. */
function told(conflict: Conflict, how: Resolution): string {
	const what = how.field === undefined ? "All fields" : fieldName(how.field);
	if (!("take" in how)) return `${what}: the merged text was saved.`;
	const deletion = conflict.fields.map(deletionOf).find((each) => each !== null);
	if (deletion) return how.take === deletion.keep ? "The note was kept." : "The note was deleted.";
	return `${what}: ${how.take === "vault" ? "your version was kept" : "the agent’s version was taken"}.`;
}
