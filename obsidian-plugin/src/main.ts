/** The plugin: what Obsidian loads. It wires the parts, and does no work itself. */

import { debounce, Notice, Platform, Plugin, requireApiVersion, setIcon, type CliHandler, type WorkspaceLeaf } from "obsidian";
import { fileAt, ObsidianVault, sha256 } from "./app-vault";
import * as answers from "./answers";
import { Bridge, inWords } from "./client";
import { CLI_COMMANDS, cliAnswer } from "./cli";
import { addCommands, addReadingCommands } from "./commands";
import { Connection, type Line } from "./connection";
import { VIEWS, type Host, type Told, type ViewName } from "./host";
import { Picks } from "./picks";
import { settingsFrom, TokenSafe, type Settings } from "./settings";
import { VaultsyncSettingTab } from "./settings-tab";
import type { Event } from "./sse";
import { summary } from "./summary";
import { BridgeOff, Transport, type Http } from "./transport";
import { ConflictsView } from "./views/conflicts";
import { ContextView } from "./views/context";
import { IndexView } from "./views/index-files";
import { NoteView } from "./views/note";
import { ProposalsView } from "./views/proposals";
import { RecallView } from "./views/recall";
import { RelatedView } from "./views/related";
import { reviewFiles, ReviewNotesView } from "./views/review-notes";
import { StatusView } from "./views/status";
import { many } from "./words";
import { Writes } from "./writes";

export default class VaultsyncPlugin extends Plugin implements Host {
	declare settings: Settings;
	bridge!: Bridge;
	token!: TokenSafe;
	readonly picks = new Picks();
	readonly drafts = new Map<string, string>();
	private connection!: Connection;
	private readonly listeners = new Set<(what: Told) => void>();
	private complaint: { words: string; notice: Notice } | null = null;
	private statusEl: HTMLElement | null = null;
	private proposalsEl: HTMLElement | null = null;

	override async onload(): Promise<void> {
		this.settings = settingsFrom(await this.loadData());
		if (Platform.isDesktop) await this.loadWithDaemon();
		else this.loadReading();
	}

	private async loadWithDaemon(): Promise<void> {
		const vault = new ObsidianVault(this.app);
		this.token = new TokenSafe(this.app, await vault.vaultId());
		const where = (): { address: string; token: string } => ({
			address: this.settings.address,
			token: this.token.read(),
		});
		const transport = new Transport(nodeHttp, where);
		this.bridge = new Bridge(transport, () => this.connection.check());
		const writes = new Writes(vault, sha256);
		this.connection = new Connection({
			bridge: this.bridge,
			transport,
			ready: () => this.token.read() !== "",
			writes: () => this.settings.writeThrough,
			vault: async () => {
				const id = await vault.vaultId();
				this.token.identify(id);
				return id;
			},
			pause,
			changed: () => this.tell("line"),
			event: (event) => this.hear(event, writes),
		});
		this.register(() => void this.connection.stop());

		this.registerView(VIEWS.status, (leaf) => new StatusView(leaf, this));
		this.registerView(VIEWS.conflicts, (leaf) => new ConflictsView(leaf, this));
		this.registerView(VIEWS.proposals, (leaf) => new ProposalsView(leaf, this));
		this.registerView(VIEWS.recall, (leaf) => new RecallView(leaf, this));
		this.registerView(VIEWS.context, (leaf) => new ContextView(leaf, this));
		this.registerView(VIEWS.related, (leaf) => new RelatedView(leaf, this));
		this.registerView(VIEWS.note, (leaf) => new NoteView(leaf, this));
		this.registerView(VIEWS.index, (leaf) => new IndexView(leaf, this));
		this.addSettingTab(new VaultsyncSettingTab(this.app, this));
		this.addRibbonIcon("brain-circuit", "Recall from memory", () => void this.show("recall"));
		this.addProposalsIcon();
		addCommands(this, this);
		this.addCliCommands();
		this.register(this.listen(() => this.drawStatus()));
		this.drawStatus();
		this.registerDomEvent(window, "focus", () => this.connection.wake());
		this.app.workspace.onLayoutReady(() => this.connection.start());
	}

	/** A phone or a tablet has no daemon: conflicts and proposals are shown by their notes. */
	private loadReading(): void {
		this.registerView(VIEWS.conflicts, (leaf) => new ReviewNotesView(leaf, this, VIEWS.conflicts, "conflict"));
		this.registerView(VIEWS.proposals, (leaf) => new ReviewNotesView(leaf, this, VIEWS.proposals, "proposal"));
		this.addProposalsIcon();
		addReadingCommands(this, this);
		const { metadataCache, vault, workspace } = this.app;
		const draw = (): void => this.drawProposalsIcon(reviewFiles(this.app, "proposal").length);
		const count = debounce(draw, 500, true);
		workspace.onLayoutReady(() => {
			count();
			this.registerEvent(metadataCache.on("changed", count));
			this.registerEvent(vault.on("delete", count));
			this.registerEvent(vault.on("rename", count));
		});
	}

	private addProposalsIcon(): void {
		this.proposalsEl = this.addRibbonIcon("list-checks", "Answer proposals", () => void this.show("proposals"));
		this.proposalsEl.addClass("vaultsync-ribbon");
	}

	private drawProposalsIcon(count: number): void {
		this.proposalsEl?.setAttrs({
			"data-count": count === 0 ? null : String(Math.min(count, 99)),
			"aria-label": count === 0 ? "Answer proposals" : `Answer ${many(count, "proposal", "proposals")}`,
		});
	}

	/** From Obsidian 1.12.2 on, its own command line can ask the memory. */
	private addCliCommands(): void {
		for (const command of CLI_COMMANDS) {
			const answer: CliHandler = (given) => cliAnswer(command, this.bridge, given, inWords);
			if (requireApiVersion("1.12.2")) {
				this.registerCliHandler(`${this.manifest.id}:${command.name}`, command.description, command.flags, answer);
			}
		}
	}

	line(): Line {
		return this.connection.line;
	}

	listen(told: (what: Told) => void): () => void {
		this.listeners.add(told);
		return () => this.listeners.delete(told);
	}

	retry(): void {
		this.connection.wake();
	}

	/** Save the settings and apply them. */
	async saveSettings(reconnect: boolean): Promise<void> {
		await this.saveData(this.settings);
		this.drawStatus();
		if (reconnect) this.connection.restart();
	}

	async show(view: ViewName): Promise<void> {
		const { workspace } = this.app;
		const type = VIEWS[view];
		let leaf: WorkspaceLeaf | null = workspace.getLeavesOfType(type)[0] ?? null;
		if (!leaf) {
			leaf = view === "conflicts" || view === "proposals" || view === "index" ? workspace.getLeaf("tab") : workspace.getRightLeaf(false);
			await leaf?.setViewState({ type, active: true });
		}
		if (leaf) await workspace.revealLeaf(leaf);
	}

	openSettings(): void {
		// Not in the typings: there is no other way to lead a person to the settings.
		const { setting } = this.app as unknown as { setting?: { open(): void; openTabById(id: string): void } };
		setting?.open();
		setting?.openTabById(this.manifest.id);
	}

	async openNote(path: string, line?: number): Promise<void> {
		const file = fileAt(this.app, path);
		if (!file) {
			new Notice(`There is no note ${path} yet.`);
			return;
		}
		const state = line === undefined ? {} : { eState: { line: Math.max(0, line - 1) } };
		await this.app.workspace.getLeaf(false).openFile(file, state);
	}

	async attempt(work: () => Promise<void>): Promise<boolean> {
		try {
			await work();
			return true;
		} catch (error) {
			this.complain(inWords(error));
			return false;
		} finally {
			void this.connection.refresh();
		}
	}

	/** Show a notice, unless one with the same words can still be read: a daemon that is off fails all that was asked of it. */
	private complain(words: string): void {
		if (this.complaint?.words === words && this.complaint.notice.messageEl.isConnected) return;
		this.complaint = { words, notice: new Notice(words, 8000) };
	}

	private hear(event: Event, writes: Writes): void {
		if (event.kind === "pass") {
			this.tell("pass");
		} else if (event.kind === "write") {
			void this.applyWrite(event.data, writes);
		}
	}

	private async applyWrite(data: unknown, writes: Writes): Promise<void> {
		try {
			const write = answers.write(data, "write");
			await this.bridge.written(write.write, await writes.apply(write));
		} catch {
			// Unanswered, the daemon writes the file itself after two seconds.
		}
	}

	private tell(what: Told): void {
		for (const told of this.listeners) told(what);
	}

	private drawStatus(): void {
		const now = this.line();
		this.drawProposalsIcon(now.kind === "on" ? now.status.proposals : 0);
		if (!this.settings.statusBar) {
			this.statusEl?.remove();
			this.statusEl = null;
			return;
		}
		const el = (this.statusEl ??= this.makeStatus());
		const { tone, text, label, icon } = summary(this.line());
		el.setAttr("data-tone", tone);
		el.setAttr("aria-label", `Vaultsync: ${label}`);
		el.setAttr("data-tooltip-position", "top");
		const iconEl = el.querySelector<HTMLElement>(".vaultsync-bar-icon");
		if (iconEl) setIcon(iconEl, icon);
		el.querySelector(".vaultsync-bar-text")?.setText(text);
	}

	private makeStatus(): HTMLElement {
		const el = this.addStatusBarItem();
		el.addClass("mod-clickable", "vaultsync-bar");
		el.setAttrs({ role: "button", tabindex: "0" });
		el.createSpan({ cls: "vaultsync-bar-icon", attr: { "aria-hidden": "true" } });
		el.createSpan({ cls: "vaultsync-bar-text" });
		const open = (): void => void this.show(this.urgent());
		this.registerDomEvent(el, "click", open);
		this.registerDomEvent(el, "keydown", (event) => {
			if (event.key !== "Enter" && event.key !== " ") return;
			event.preventDefault();
			open();
		});
		return el;
	}

	/** The view that the status bar leads to. */
	private urgent(): ViewName {
		const { tone } = summary(this.line());
		return tone === "conflict" ? "conflicts" : tone === "proposal" ? "proposals" : "status";
	}
}

async function nodeHttp(): Promise<Http> {
	if (Platform.isDesktop) return import("http");
	throw new BridgeOff("vaultsync needs the desktop app");
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
	return new Promise((done) => {
		const end = (): void => {
			window.clearTimeout(timer);
			signal.removeEventListener("abort", end);
			done();
		};
		const timer = window.setTimeout(end, milliseconds);
		if (signal.aborted) end();
		else signal.addEventListener("abort", end);
	});
}
