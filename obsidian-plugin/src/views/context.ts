/** Context packs: what an agent would be given for a question, within a budget, and why. */

import { Notice } from "obsidian";
import type { Context } from "../answers";
import { VIEWS, type Told } from "../host";
import { wholePack } from "../picks";
import { capital, hiddenWords, many, nameOf } from "../words";
import { BridgeView } from "./bridge-view";
import { button, chip, empty, iconButton, keepingFocus, link, say, searchField, section, settled } from "./parts";

const TIER_NAMES: readonly (readonly [string, string])[] = [
	["critical", "Critical"],
	["notable", "Notable"],
	["background", "Background"],
	["entities", "Entities"],
];

export class ContextView extends BridgeView {
	private inputEl!: HTMLInputElement;
	private sliderEl!: HTMLInputElement;
	private budgetEl!: HTMLElement;
	/** What is going on. It stays in the page, for else no screen reader tells what appears in it. */
	private sayEl!: HTMLElement;
	private packEl!: HTMLElement;
	/** What is drawn. */
	private shownNow = "";
	private pack: Context | null = null;
	/** Whether facts that are hidden by default are packed for this question. */
	private all = false;
	private asking: AbortController | null = null;
	private readonly moved = settled(200, () => void this.ask());

	override getViewType(): string {
		return VIEWS.context;
	}

	override getDisplayText(): string {
		return "Context pack";
	}

	override getIcon(): string {
		return "package";
	}

	protected override concerns(what: Told): boolean {
		return what === "pass";
	}

	protected override build(): void {
		const search = this.bodyEl.createDiv({ cls: "vaultsync-search" });
		this.inputEl = searchField(search, "Question for the pack", "What is the agent about to do?", () => {
			this.all = false;
			if (this.inputEl.value === "") void this.ask();
		});
		this.inputEl.addEventListener("keydown", (event) => {
			if (event.key === "Enter" && !event.isComposing) void this.ask();
		});
		const row = search.createDiv({ cls: "vaultsync-budget" });
		row.createEl("label", { text: "Budget", attr: { for: "vaultsync-budget" } });
		this.sliderEl = row.createEl("input", {
			type: "range",
			cls: "slider",
			attr: { id: "vaultsync-budget", min: "500", max: "16000", step: "500" },
		});
		this.sliderEl.value = String(this.host.settings.budget);
		this.budgetEl = row.createEl("output", { attr: { for: "vaultsync-budget" } });
		this.sliderEl.addEventListener("input", () => {
			this.sayBudget();
			if (this.inputEl.value.trim() !== "") this.moved.soon();
		});
		this.sliderEl.addEventListener("change", () => {
			this.host.settings.budget = this.budget;
			void this.host.saveSettings(false);
		});
		this.sayBudget();
		this.sayEl = this.bodyEl.createDiv({ cls: "vaultsync-say", attr: { role: "status" } });
		this.packEl = this.bodyEl.createDiv();
		this.register(this.host.picks.listen(() => void this.ask()));
		this.register(() => this.moved.stop());
		this.draw();
	}

	protected override async update(): Promise<void> {
		await this.ask(false);
	}

	private get budget(): number {
		return Number(this.sliderEl.value);
	}

	private sayBudget(): void {
		const words = `${this.budget.toLocaleString("en")} tokens`;
		this.budgetEl.setText(words);
		this.sliderEl.setAttr("aria-valuetext", words);
	}

	/** Ask, and say so unless the user did not start it. */
	private async ask(told = true): Promise<void> {
		this.asking?.abort();
		const query = this.inputEl.value.trim();
		if (query === "") {
			this.pack = null;
			this.sayEl.empty();
			this.draw();
			return;
		}
		if (told) say(this.sayEl, "Packing…");
		const asking = (this.asking = new AbortController());
		const budget = Math.max(1, this.budget - this.host.picks.tokens);
		const done = await this.host.attempt(async () => {
			try {
				this.pack = await this.host.bridge.context({ query, budget, ...(this.all ? { all: true } : {}) }, asking.signal);
			} catch (error) {
				if (!asking.signal.aborted) throw error;
			}
		});
		if (asking.signal.aborted) return;
		say(this.sayEl, !done || !this.pack ? "" : `${many(this.pack.items.length, "fact", "facts")} packed, ${this.pack.left_out.length.toLocaleString("en")} left out.`);
		this.draw();
	}

	private draw(): void {
		const now = JSON.stringify([this.budget, this.host.picks.all, this.pack]);
		if (now === this.shownNow) return;
		this.shownNow = now;
		const opened = this.packEl.findAll("details[open]").map((el) => el.getAttr("data-key"));
		keepingFocus(this.packEl, () => this.drawAll());
		for (const el of this.packEl.findAll("details")) el.toggleAttribute("open", opened.includes(el.getAttr("data-key")));
	}

	private drawAll(): void {
		this.packEl.empty();
		const picks = this.host.picks.all;
		if (!this.pack && picks.length === 0) {
			empty(this.packEl, "package", "No pack yet", "Ask above, or add hits to the pack in the recall view.");
			return;
		}
		if (picks.length === 0 && this.pack?.items.length === 0) empty(this.packEl, "search-x", "Nothing to pack", this.pack.nothing_known);
		else this.drawWhole();
		if (picks.length > 0) this.drawPicks();
		if (this.pack) this.drawPack(this.pack);
	}

	private drawWhole(): void {
		const tokens = this.host.picks.tokens + (this.pack?.tokens ?? 0);
		const head = this.packEl.createDiv({ cls: "vaultsync-pack-head" });
		head.createDiv({ cls: "vaultsync-hero-title", text: `${tokens.toLocaleString("en")} of ${this.budget.toLocaleString("en")} tokens` });
		button(head, "Copy", () => this.copy(), "mod-cta");
		this.drawBar();
	}

	private drawBar(): void {
		const shares = [["picked", "Picked", this.host.picks.tokens] as const, ...TIER_NAMES.map(([tier, name]) => [tier, name, this.pack?.by_tier[tier] ?? 0] as const)];
		const words = shares.filter(([, , tokens]) => tokens > 0).map(([, name, tokens]) => `${name} ${tokens}`).join(", ");
		const bar = this.packEl.createDiv({ cls: "vaultsync-bar-shares", attr: { role: "img", "aria-label": `Tokens by tier: ${words}` } });
		const legend = this.packEl.createDiv({ cls: "vaultsync-legend" });
		for (const [tier, name, tokens] of shares) {
			if (tokens === 0) continue;
			bar.createDiv({ attr: { "data-kind": tier } }).setCssProps({ "--vaultsync-share": `${(100 * tokens) / this.budget}%` });
			const item = legend.createSpan({ attr: { "data-kind": tier } });
			item.createSpan({ cls: "vaultsync-dot", attr: { "aria-hidden": "true" } });
			item.appendText(`${name} ${tokens.toLocaleString("en")}`);
		}
	}

	private drawPicks(): void {
		const el = section(this.packEl, "Picked by you", this.host.picks.all.length);
		const list = el.createEl("ul", { cls: "vaultsync-list" });
		for (const pick of this.host.picks.all) {
			const item = list.createEl("li", { cls: "vaultsync-packed" });
			const head = item.createDiv({ cls: "vaultsync-packed-head" });
			link(head, pick.title, () => this.host.openNote(pick.citation));
			head.createSpan({ cls: "vaultsync-tokens", text: `about ${pick.tokens}` });
			iconButton(head, "x", `Remove ${pick.title} from the pack`, () => this.host.picks.remove(pick.id));
		}
	}

	private drawPack(pack: Context): void {
		for (const [tier, name] of TIER_NAMES) {
			const items = pack.items.filter((item) => item.tier === tier);
			if (items.length === 0) continue;
			const list = section(this.packEl, name, items.length).createEl("ul", { cls: "vaultsync-list" });
			for (const item of items) {
				const el = list.createEl("li", { cls: "vaultsync-packed" });
				const head = el.createDiv({ cls: "vaultsync-packed-head" });
				const path = item.citation.replace(/#.*$/, "");
				link(head, item.title === "" ? nameOf(path) : item.title, () => this.host.openNote(path));
				if (item.cut) chip(head, "cut");
				head.createSpan({ cls: "vaultsync-tokens", text: String(item.tokens) });
				el.createDiv({ cls: "vaultsync-muted", text: capital(item.reason) });
			}
		}
		if (pack.left_out.length > 0) this.drawLeftOut(pack);
		const hidden = hiddenWords(pack.hidden);
		if (hidden !== "") this.drawHidden(hidden, pack.hidden);
		if (pack.text !== "") {
			const shown = this.packEl.createEl("details", { cls: "vaultsync-details", attr: { "data-key": "text" } });
			shown.createEl("summary", { text: "Text of the pack", attr: { "data-key": "summary" } });
			shown.createEl("pre", { text: pack.text, attr: { tabindex: "0" } });
		}
	}

	private drawLeftOut(pack: Context): void {
		const tokens = pack.left_out.reduce((sum, each) => sum + each.tokens, 0);
		const el = this.packEl.createEl("details", { cls: "vaultsync-details", attr: { "data-key": "left out" } });
		el.createEl("summary", { attr: { "data-key": "summary" }, text: `Left out: ${many(pack.left_out.length, "fact", "facts")}, ${tokens.toLocaleString("en")} tokens` });
		const list = el.createEl("ul", { cls: "vaultsync-list" });
		for (const each of pack.left_out) {
			const item = list.createEl("li", { cls: "vaultsync-packed" });
			const head = item.createDiv({ cls: "vaultsync-packed-head" });
			head.createSpan({ text: each.title === "" ? each.id : each.title });
			head.createSpan({ cls: "vaultsync-tokens", text: String(each.tokens) });
			iconButton(head, "package-plus", `Add ${each.title} to the pack`, () =>
				this.host.attempt(async () => this.host.picks.add(await this.host.bridge.fact(each.id))),
			);
			item.createDiv({ cls: "vaultsync-muted", text: capital(each.reason) });
		}
	}

	private drawHidden(words: string, hidden: Context["hidden"]): void {
		const el = this.packEl.createDiv({ cls: "vaultsync-muted", text: `${words} ` });
		const one = hidden.reduce((sum, { count }) => sum + count, 0) === 1;
		link(el, one ? "Include it" : "Include them", () => {
			this.all = true;
			this.inputEl.focus();
			void this.ask();
		});
	}

	private async copy(): Promise<void> {
		await navigator.clipboard.writeText(wholePack(this.host.picks.all, this.pack));
		new Notice("The pack was copied.");
	}
}
