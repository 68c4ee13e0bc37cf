/** What the memory knows about the open note: its history, its links, and signals that are not in the file. */

import { debounce, Notice, TFile } from "obsidian";
import type { Change, Fact, Neighbour, Related } from "../answers";
import { adoptNote } from "../adopting";
import { factIdOf } from "../app-vault";
import { BridgeRefusal } from "../client";
import { VIEWS } from "../host";
import { confirm } from "../modals";
import { differing } from "../diff";
import { byRun, type Run } from "../versions";
import { ago, fieldName, nameOf, passWords } from "../words";
import { BridgeView } from "./bridge-view";
import { compare } from "./compare";
import { button, chip, empty, figure, firstOf, icon, keepingFocus, link, section, tierChip } from "./parts";

/** How many runs, or notes of a list, are drawn at once. */
const MANY = 50;
/** Milliseconds without a save after which the view looks again. */
const PAUSE = 2500;

export class NoteView extends BridgeView {
	private file: TFile | null = null;
	/** Whether the note was saved since the last fetch. */
	private saved = false;
	private most = MANY;

	override getViewType(): string {
		return VIEWS.note;
	}

	override getDisplayText(): string {
		return "Note in memory";
	}

	override getIcon(): string {
		return "file-clock";
	}

	protected override build(): void {
		// Obsidian saves every two seconds while the user writes: ask when they pause.
		const paused = debounce(() => {
			if (this.saved) void this.catchUp();
		}, PAUSE, true);
		const follow = (): void => {
			const file = this.app.workspace.getActiveFile();
			if (file === this.file) return;
			this.file = file;
			this.most = MANY;
			// What another note says, and its buttons, must not stand here while the answer takes its time.
			this.bodyEl.empty();
			void this.catchUp();
		};
		this.registerEvent(this.app.workspace.on("file-open", follow));
		this.registerEvent(
			this.app.metadataCache.on("changed", (file) => {
				if (file !== this.file) return;
				this.saved = true;
				paused();
			}),
		);
		this.file = this.app.workspace.getActiveFile();
	}

	protected override async update(stale: () => boolean): Promise<void> {
		const { file } = this;
		this.saved = false;
		if (!file) {
			this.say("file-text", "No note is open", "Open one to see what the memory knows about it.");
			return;
		}
		const id = factIdOf(this.app, file);
		if (id === null) {
			this.foreign(file);
			return;
		}
		try {
			const { bridge } = this.host;
			const [fact, history, related] = await Promise.all([bridge.fact(id), bridge.history(id), bridge.related(id)]);
			if (!stale()) keepingFocus(this.bodyEl, () => this.draw(fact, history, related));
		} catch (error) {
			if (stale()) return;
			if (!(error instanceof BridgeRefusal) || error.status !== 404) throw error;
			this.foreign(file);
		}
	}

	private say(name: string, words: string, more: string): void {
		this.bodyEl.empty();
		empty(this.bodyEl, name, words, more);
	}

	private foreign(file: TFile): void {
		this.bodyEl.empty();
		const how = factIdOf(this.app, file) === null ? "Adopting it adds one line to its properties: an id." : "Its id is of another memory. If you adopt the note, it keeps that id.";
		const el = empty(this.bodyEl, "file-question", "Not part of the memory", `Agents cannot recall this note. ${how}`);
		if (file.extension === "md") {
			button(el, "Adopt this note", () => this.host.attempt(() => this.adopt(file)), "mod-cta");
		}
	}

	private async adopt(file: TFile): Promise<void> {
		await adoptNote(this.host, file);
		await this.refresh();
	}

	private draw(fact: Fact, history: Change[], related: Related): void {
		this.bodyEl.empty();
		const head = this.bodyEl.createDiv({ cls: "vaultsync-note-head" });
		head.createEl("h3", { cls: "vaultsync-note-title", text: fact.title });
		const chips = head.createDiv({ cls: "vaultsync-chips" });
		chip(chips, fact.type);
		tierChip(chips, fact.priority);
		chip(chips, fact.scope);
		if (fact.status !== "active") chip(chips, fact.status, "attention");
		if (fact.agentId !== "") head.createDiv({ cls: "vaultsync-muted", text: `Written by ${fact.agentId}, ${ago(fact.createdAt, Date.now())}` });
		this.drawSignals(related.signals);
		if (related.chain.length > 1) this.drawChain(fact, related);
		this.drawHistory(fact, history);
		this.neighbours("Links to this note", related.backlinks);
		this.neighbours("Canvases with this note", related.canvases.map((path) => ({ path, title: nameOf(path) })));
		this.neighbours("Related facts", related.related);
	}

	private drawSignals(signals: Related["signals"]): void {
		const el = this.bodyEl.createEl("dl", { cls: "vaultsync-numbers", attr: { "aria-label": "Signals, not stored in the file" } });
		const rows: [string, string | undefined][] = [
			["Uses", signals.accessCount.toLocaleString("en")],
			["Freshness", signals.decayFactor === null ? undefined : `${Math.round(signals.decayFactor * 100)} %`],
			["Importance", signals.importance?.toFixed(2)],
			["Utility", signals.utility?.toFixed(2)],
		];
		for (const [name, value] of rows) {
			if (value !== undefined) figure(el, name, value);
		}
		const last = signals.lastAccessedAt === null ? "Never used yet." : `Last used ${ago(signals.lastAccessedAt, Date.now())}.`;
		this.bodyEl.createDiv({ cls: "vaultsync-muted", text: `${last} These signals are not in the file.` });
	}

	private drawChain(fact: Fact, related: Related): void {
		const el = section(this.bodyEl, "Supersession", related.chain.length);
		const list = el.createEl("ol", { cls: "vaultsync-chain" });
		for (const each of related.chain) {
			const here = each.id === fact.id;
			const item = list.createEl("li", { attr: here ? { "aria-current": "true" } : {} });
			const { path } = each;
			if (here || path === null) item.createSpan({ cls: "vaultsync-here", text: each.title });
			else link(item, each.title, () => this.host.openNote(path));
			item.createSpan({ cls: "vaultsync-muted", text: each.createdAt.slice(0, 10) });
		}
	}

	private drawHistory(fact: Fact, history: Change[]): void {
		const runs = byRun(history);
		const el = section(this.bodyEl, "History", runs.length);
		if (runs.length === 0) el.createDiv({ cls: "vaultsync-muted", text: "Nothing has changed since this note became a fact." });
		const compared = (one: number, other: number): void => compare(this.app, fact.title, history, one, other);
		if (runs.length > 0) button(el.createDiv({ cls: "vaultsync-actions" }), "Compare versions", () => compared(0, runs.length));
		const list = el.createEl("ol", { cls: "vaultsync-history" });
		firstOf(list, [...runs.entries()], this.most, ([index, run]) => {
			const item = list.createEl("li", { attr: { "data-key": run.run } });
			const head = item.createDiv({ cls: "vaultsync-history-head" });
			head.createSpan({ text: ago(run.at, Date.now()), attr: { "aria-label": run.at } });
			const version = runs.length - index;
			link(head, "Compare", () => compared(version - 1, version)).setAttrs({ "aria-label": `Compare the versions before and after ${run.at}`, "data-key": "compare" });
			link(head, "Undo", () => this.undo(run)).setAttrs({ "aria-label": `Undo the changes of ${run.at}`, "data-key": "undo" });
			for (const change of run.changes) this.drawChange(item, change);
		}, () => this.more());
	}

	private drawChange(parent: HTMLElement, change: Change): void {
		const el = parent.createDiv({ cls: "vaultsync-change", attr: { "data-kind": change.side } });
		icon(el, change.actor === "person" ? "user" : "bot");
		const words = el.createDiv();
		const head = words.createDiv();
		head.createSpan({ cls: "vaultsync-change-field", text: fieldName(change.field) });
		head.createSpan({ cls: "vaultsync-muted", text: ` ${change.actor}, in the ${change.side === "vault" ? "note" : "memory"}` });
		const [before, after] = differing(change.before, change.after);
		const values = words.createDiv({ cls: "vaultsync-values" });
		if (before !== "") values.createEl("del", { text: before });
		if (before !== "" && after !== "") icon(values, "arrow-right");
		if (after !== "") values.createEl("ins", { text: after });
	}

	private neighbours(heading: string, list: readonly Omit<Neighbour, "id">[]): void {
		if (list.length === 0) return;
		const el = section(this.bodyEl, heading, list.length).createEl("ul", { cls: "vaultsync-list" });
		firstOf(el, list, this.most, ({ title, path }) => {
			const item = el.createEl("li");
			if (path === null) item.createSpan({ text: title });
			else link(item, title, () => this.host.openNote(path));
		}, () => this.more());
	}

	private more(): void {
		this.most += MANY;
		void this.refresh();
	}

	private async undo(run: Run): Promise<void> {
		const words = "This undoes all changes of the run, on both sides and in other notes too. Later changes are merged, not lost.";
		if (!(await confirm(this.app, "Undo this run?", words, "Undo"))) return;
		await this.host.attempt(async () => {
			const { counts } = await this.host.bridge.undo(run.run);
			new Notice(`Undone: ${passWords(counts)}.`);
		});
		await this.refresh();
	}
}
