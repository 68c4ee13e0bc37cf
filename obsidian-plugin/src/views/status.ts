/** The status: pending changes, notices, the state of the daemon, the last run. */

import { Notice } from "obsidian";
import type { Notice as Attention, Report, Status, Telemetry } from "../answers";
import { VIEWS } from "../host";
import { confirm } from "../modals";
import { summary, type Tone } from "../summary";
import { syncNow } from "../syncing";
import { ago, capital, many, observationRows, passWords, telemetryWords } from "../words";
import { BridgeView } from "./bridge-view";
import { button, figure, firstOf, icon, keepingFocus, link, prose, section } from "./parts";

/** How many rows of a list are drawn at once. */
const MANY = 50;
/** What to know where the title says the rest. */
const NEXT: Partial<Record<Tone, string>> = {
	conflict: "Your notes keep your version until you choose.",
	proposal: "Nothing changes until you accept.",
};

export class StatusView extends BridgeView {
	private planned: Report | null = null;
	/** The last run when that was planned: after another, it no longer holds. */
	private plannedAfter: string | undefined;
	private most = MANY;

	override getViewType(): string {
		return VIEWS.status;
	}

	override getDisplayText(): string {
		return "Memory status";
	}

	override getIcon(): string {
		return "activity";
	}

	protected override async update(): Promise<void> {
		const line = this.host.line();
		if (line.kind === "on") keepingFocus(this.bodyEl, () => this.draw(line.status));
		await Promise.resolve();
	}

	private draw(status: Status): void {
		this.bodyEl.empty();
		const { tone, text, label, icon: name } = summary({ kind: "on", status });
		const head = this.bodyEl.createDiv({ cls: "vaultsync-hero", attr: { "data-tone": tone } });
		icon(head, name, "vaultsync-hero-icon");
		const words = head.createDiv();
		words.createDiv({ cls: "vaultsync-hero-title", text: capital(text) });
		prose(words.createDiv({ cls: "vaultsync-muted" }), NEXT[tone] ?? label);

		if (status.conflicts > 0) button(head, "Resolve", () => this.host.show("conflicts"), "mod-cta").addClass("vaultsync-hero-action");
		else if (status.proposals > 0) button(head, "Answer", () => this.host.show("proposals"), "mod-cta").addClass("vaultsync-hero-action");

		const numbers = this.bodyEl.createEl("dl", { cls: "vaultsync-numbers" });
		const number = (name: string, count: number, tone = ""): void => figure(numbers, name, count.toLocaleString("en"), count > 0 ? tone : "");
		number("Facts", status.facts);
		number("Waiting", status.pending + status.outbox);
		number("Conflicts", status.conflicts, "conflict");
		number("Proposals", status.proposals);
		if (status.attention.length > 0) number("Attention", status.attention.length, "attention");

		const actions = this.bodyEl.createDiv({ cls: "vaultsync-actions" });
		button(actions, "Sync now", () => this.sync(), status.conflicts > 0 ? "" : "mod-cta");
		button(actions, "Preview", () => this.preview());
		button(actions, "Verify", () => this.verify());
		if (status.last_run?.run !== this.plannedAfter) this.planned = null;
		if (this.planned) this.drawPlan(this.planned);
		if (status.attention.length > 0) this.drawAttention(status.attention);
		this.drawObservations(status);
		this.drawDaemon(status);
		if (status.daemon?.telemetry) this.drawTelemetry(status.daemon.telemetry);
		this.drawLast(status);
	}

	private more(): void {
		this.most += MANY;
		void this.refresh();
	}

	private drawPlan(plan: Report): void {
		const el = section(this.bodyEl, "What a sync would do", plan.actions.length || undefined);
		el.createDiv({ cls: "vaultsync-muted", text: `${capital(passWords(plan.counts))}.` });
		const list = el.createEl("ul", { cls: "vaultsync-list" });
		firstOf(list, plan.actions, this.most, (action) => {
			const item = list.createEl("li");
			const { path } = action;
			if (path !== null) link(item, path, () => this.host.openNote(path));
			item.createDiv({ cls: "vaultsync-muted", text: [action.action.replace(/_/g, " "), action.reason].filter(Boolean).join(" · ") });
		}, () => this.more());
	}

	private drawAttention(notices: readonly Attention[]): void {
		const el = section(this.bodyEl, "Needs your attention", notices.length);
		const list = el.createEl("ul", { cls: "vaultsync-list" });
		firstOf(list, notices, this.most, ({ path, line, message, hint }) => {
			const item = list.createEl("li");
			if (path !== null) link(item, path, () => this.host.openNote(path, line ?? undefined));
			prose(item.createDiv(), line === null ? message : `Line ${line}: ${message}`);
			if (hint !== "") prose(item.createDiv({ cls: "vaultsync-muted" }), hint);
		}, () => this.more());
	}

	private drawObservations({ observations }: Status): void {
		const found = observations === null ? [] : observationRows(observations);
		if (found.length === 0) return;
		const rows = section(this.bodyEl, "Observations").createEl("dl", { cls: "vaultsync-rows" });
		for (const [name, words] of found) this.row(rows, name, words);
	}

	private drawDaemon(status: Status): void {
		const el = section(this.bodyEl, "Daemon");
		const rows = el.createEl("dl", { cls: "vaultsync-rows" });
		const { daemon } = status;
		if (!daemon) {
			this.row(rows, "Daemon", "not running: changes wait for the next sync");
		} else {
			this.row(rows, "Watcher", daemon.watcher);
			if (daemon.lag_seconds !== null) this.row(rows, "Delay", `${daemon.lag_seconds.toFixed(1)} s`);
			if (daemon.since !== null) this.row(rows, "Running since", ago(daemon.since, Date.now()));
			if (daemon.watcher_trouble !== "") this.row(rows, "Watcher", daemon.watcher_trouble);
			if (daemon.store_away !== "") this.row(rows, "Store", daemon.store_away);
			const error = daemon.last_error;
			if (error !== null) {
				this.row(rows, daemon.failing ? "Fails" : "Failed", `${ago(error.at, Date.now())}: ${error.message}`);
				if (error.hint !== "") this.row(rows, "Hint", error.hint);
			}
		}
		if (status.silent_proposals.length > 0) this.row(rows, "No longer proposed", status.silent_proposals.join("; "));
		if (status.foreign > 0) this.row(rows, "Not adopted", many(status.foreign, "note outside the memory", "notes outside the memory"));
		this.row(rows, "Writes", status.app_connected ? "through this app" : "directly to the files");
		this.row(rows, "Version", status.version);
	}

	private drawTelemetry(found: Telemetry): void {
		const el = section(this.bodyEl, "Performance");
		const rows = el.createEl("dl", { cls: "vaultsync-rows" });
		for (const [name, words] of telemetryWords(found)) this.row(rows, name, words);
		el.createDiv({ cls: "vaultsync-muted", text: `Measured on this computer since ${found.since.slice(0, 10)}; never sent anywhere.` });
	}

	private drawLast(status: Status): void {
		const last = status.last_run;
		if (!last) return;
		const el = section(this.bodyEl, "Last run that changed something");
		const rows = el.createEl("dl", { cls: "vaultsync-rows" });
		this.row(rows, "When", ago(last.at, Date.now()));
		this.row(rows, "Did", capital(passWords(last.counts)));
		button(el.createDiv({ cls: "vaultsync-actions" }), "Undo this run", () => this.undo(last.run));
	}

	private row(parent: HTMLElement, name: string, words: string): void {
		parent.createEl("dt", { text: name });
		prose(parent.createEl("dd"), words);
	}

	private async sync(): Promise<void> {
		this.planned = null;
		await syncNow(this.host);
		await this.refresh();
	}

	private async preview(): Promise<void> {
		await this.host.attempt(async () => {
			this.planned = await this.host.bridge.sync({ dry_run: true });
			const line = this.host.line();
			this.plannedAfter = line.kind === "on" ? line.status.last_run?.run : undefined;
		});
		await this.refresh();
	}

	private async verify(): Promise<void> {
		await this.host.attempt(async () => {
			const { equal, checked, differences } = await this.host.bridge.verify();
			const words = equal ? "both sides are equal" : many(differences.length, "difference", "differences");
			new Notice(`Checked ${many(checked, "fact", "facts")}: ${words}.`);
		});
	}

	private async undo(run: string): Promise<void> {
		if (!(await confirm(this.app, "Undo this run?", "This undoes its changes on both sides. Later changes are merged, not lost.", "Undo"))) return;
		await this.host.attempt(async () => {
			const { counts } = await this.host.bridge.undo(run);
			new Notice(`Undone: ${passWords(counts)}.`);
		});
		await this.refresh();
	}
}
