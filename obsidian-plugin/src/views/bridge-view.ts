/** A view of what the daemon knows. It is redrawn when something changes, and inert while the daemon is off. */

import { ItemView, type WorkspaceLeaf } from "obsidian";
import type { Host, Told } from "../host";
import { summary } from "../summary";
import { Abandoned } from "../transport";
import { button, icon } from "./parts";

/** What starts the daemon, in a terminal. */
const START = "vaultsync watch";
/** Milliseconds within which events lead to one fetch: a run tells of itself by several. */
const JOIN = 100;

export abstract class BridgeView extends ItemView {
	override navigation = false;
	/** The content of the view; each view draws its own. */
	protected bodyEl!: HTMLElement;
	private bannerEl!: HTMLElement;
	private round = 0;
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
		this.bodyEl = this.contentEl.createDiv({ cls: "vaultsync-body" });
		this.build();
		this.register(this.host.listen((what) => this.hear(what)));
		this.register(() => window.clearTimeout(this.joined));
		this.hear("line");
		await Promise.resolve();
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
		try {
			await this.update(() => round !== this.round);
		} catch (error) {
			if (round === this.round && !(error instanceof Abandoned)) this.warn(error);
		}
	}

	private hear(what: Told): void {
		const on = this.host.line().kind === "on";
		const was = this.bodyEl.hasClass("is-stale");
		if (what === "line") this.drawBanner();
		if (on && (this.concerns(what) || was)) this.joined ||= window.setTimeout(() => void this.catchUp(), JOIN);
	}

	private async catchUp(): Promise<void> {
		this.joined = 0;
		if (this.host.line().kind === "on") await this.refresh();
	}

	private drawBanner(): void {
		const line = this.host.line();
		const off = line.kind !== "on";
		this.bodyEl.toggleClass("is-stale", off);
		this.bodyEl.toggleAttribute("inert", off);
		this.bannerEl.empty();
		this.bannerEl.toggle(off);
		if (!off) return;
		icon(this.bannerEl, "unplug");
		this.bannerEl.createSpan({ text: summary(line).label });
		if (line.kind === "off") this.bannerEl.createEl("code", { text: START });
		if (line.kind === "off") button(this.bannerEl, "Try again", () => this.host.retry());
		else button(this.bannerEl, "Settings", () => this.host.openSettings());
	}

	private warn(error: unknown): void {
		this.bannerEl.empty();
		this.bannerEl.show();
		icon(this.bannerEl, "alert-triangle");
		this.bannerEl.createSpan({ text: error instanceof Error ? error.message : String(error) });
		button(this.bannerEl, "Try again", () => {
			this.bannerEl.hide();
			void this.refresh();
		});
	}
}
