/** A view of what the daemon knows. It is redrawn when something changes, and inert while the daemon is off. */

import { ItemView, type WorkspaceLeaf } from "obsidian";
import { inWords } from "../client";
import type { Host, Told } from "../host";
import { summary } from "../summary";
import { Abandoned, BridgeLate } from "../transport";
import { button, icon, prose } from "./parts";

/** What starts the daemon, in a terminal. */
const START = "vaultsync watch";
/** Milliseconds within which events lead to one fetch: a run tells of itself by several. */
const JOIN = 100;
/** Milliseconds after which an empty view says that it waits. */
const SLOW = 400;

export abstract class BridgeView extends ItemView {
	override navigation = false;
	/** The content of the view; each view draws its own. */
	protected bodyEl!: HTMLElement;
	private bannerEl!: HTMLElement;
	/** What the banner shows: drawn again, it would lose the focus, and be read out again. */
	private banner: string | null = null;
	private waitEl!: HTMLElement;
	private round = 0;
	/** Whether something happened since the last fetch, while nobody could see the view. */
	private behind = false;
	/** The timer of the next fetch; 0 when there is none. */
	private joined = 0;

	constructor(
		leaf: WorkspaceLeaf,
		protected readonly host: Host,
	) {
		super(leaf);
	}

	override async onOpen(): Promise<void> {
		this.contentEl.empty();
		this.contentEl.addClass("vaultsync-view");
		this.bannerEl = this.contentEl.createDiv({ cls: "vaultsync-banner", attr: { role: "status" } });
		this.waitEl = this.contentEl.createDiv({ cls: "vaultsync-wait", attr: { role: "status" } });
		this.bodyEl = this.contentEl.createDiv({ cls: "vaultsync-body" });
		this.build();
		this.register(this.host.listen((what) => this.hear(what)));
		this.register(() => window.clearTimeout(this.joined));
		this.registerEvent(this.app.workspace.on("layout-change", () => this.see()));
		this.registerEvent(this.app.workspace.on("active-leaf-change", () => this.see()));
		this.hear("line");
		await Promise.resolve();
	}

	override onResize(): void {
		super.onResize();
		this.see();
	}

	/** Build the parts that are never redrawn, such as inputs. */
	protected build(): void {
		// Most views have nothing that stays.
	}

	/** Fetch what is shown, and draw it unless `stale()`: a newer fetch is running. */
	protected abstract update(stale: () => boolean): Promise<void>;

	/** Whether this makes the view fetch again. */
	protected concerns(_: Told): boolean {
		return true;
	}

	/** Fetch and draw now. */
	protected async refresh(): Promise<void> {
		const round = ++this.round;
		const slow = window.setTimeout(() => {
			if (round === this.round && this.bodyEl.childElementCount === 0) this.waitEl.setText("Loading…");
		}, SLOW);
		try {
			await this.update(() => round !== this.round);
		} catch (error) {
			if (round === this.round && !(error instanceof Abandoned)) this.warn(error);
		} finally {
			window.clearTimeout(slow);
			if (round === this.round) this.waitEl.empty();
		}
	}

	private hear(what: Told): void {
		const on = this.host.line().kind === "on";
		const was = this.bodyEl.hasClass("is-stale");
		if (what === "line") this.drawBanner();
		if (on && (this.concerns(what) || was)) this.joined ||= window.setTimeout(() => void this.catchUp(), JOIN);
	}

	/** Fetch again, or when the view comes into sight: what nobody sees costs the daemon nothing. */
	protected async catchUp(): Promise<void> {
		this.joined = 0;
		if (this.host.line().kind !== "on") return;
		this.behind = !this.containerEl.isShown();
		if (!this.behind) await this.refresh();
	}

	/** The view may have come into sight. */
	private see(): void {
		if (this.behind) void this.catchUp();
	}

	private drawBanner(): void {
		const line = this.host.line();
		const off = line.kind !== "on";
		this.bodyEl.toggleClass("is-stale", off);
		this.bodyEl.toggleAttribute("inert", off);
		this.drawMessage("unplug", off ? summary(line).label : "", () => {
			if (line.kind === "off") this.bannerEl.createEl("code", { text: START });
			if (line.kind !== "unset") button(this.bannerEl, "Try again", () => this.host.retry());
			if (line.kind !== "off" && line.kind !== "late") button(this.bannerEl, "Settings", () => this.host.openSettings());
		});
	}

	private warn(error: unknown): void {
		// A view only reads: that the daemon may still do it is no news.
		const words = error instanceof BridgeLate ? "The daemon does not answer in time." : inWords(error);
		this.drawMessage("alert-triangle", words, () => {
			button(this.bannerEl, "Try again", () => {
				this.drawBanner();
				void this.refresh();
			});
		});
	}

	/** Show a message above the view, none when it is empty. */
	private drawMessage(name: string, words: string, more: () => void): void {
		if (words === this.banner) return;
		this.banner = words;
		this.bannerEl.empty();
		this.bannerEl.toggle(words !== "");
		if (words === "") return;
		icon(this.bannerEl, name);
		prose(this.bannerEl.createSpan(), words);
		more();
	}
}
