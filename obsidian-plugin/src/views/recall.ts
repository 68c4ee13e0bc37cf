/** Recall: keyword search while the user types, semantic search on Enter. */

import type { Hit, Recall } from "../answers";
import { inWords } from "../client";
import { VIEWS, type Told } from "../host";
import { duration, hiddenWords, many, scopesOf, sourceWords, TIERS, TYPES } from "../words";
import { BridgeView } from "./bridge-view";
import { drawHit } from "./hits";
import { choice, empty, iconButton, keepingFocus, link, say, searchField, settled } from "./parts";

const MOST = 20;

export class RecallView extends BridgeView {
	private inputEl!: HTMLInputElement;
	private sayEl!: HTMLElement;
	private hitsEl!: HTMLElement;
	private type = "";
	private tier = "";
	private within = "";
	/** Whether facts that are hidden by default are shown for this question. */
	private all = false;
	private mode: "auto" | "index" = "index";
	/** What is drawn. */
	private shownNow = "";
	private asking: AbortController | null = null;
	/** Whether the user waits for an answer; else only what changed is drawn, and read out. */
	private loud = false;
	private readonly typed = settled(120, () => void this.ask("index"));

	override getViewType(): string {
		return VIEWS.recall;
	}

	override getDisplayText(): string {
		return "Recall";
	}

	override getIcon(): string {
		return "brain-circuit";
	}

	protected override concerns(what: Told): boolean {
		return what === "pass";
	}

	protected override build(): void {
		const search = this.bodyEl.createDiv({ cls: "vaultsync-search", attr: { role: "search" } });
		this.inputEl = searchField(search, "Recall", "What do I know about…", () => {
			this.all = false;
			if (this.host.settings.whileTyping || this.inputEl.value === "") this.typed.soon();
		});
		const filters = search.createDiv({ cls: "vaultsync-filters" });
		const again = (): void => void this.ask(this.mode);
		choice(filters, "Type", [["", "Any type"], ...TYPES.map((type) => [type, type] as const)], "", (value) => {
			this.type = value;
			again();
		});
		const tiers = Object.entries(TIERS).map(([tier, { label }]) => [tier, tier === "critical" ? "Critical only" : `Up to ${label.toLowerCase()}`] as const);
		choice(filters, "Tier", [["", "Default tiers"], ...tiers], "", (value) => {
			this.tier = value;
			again();
		});
		const folders = this.app.vault.getRoot().children.map((child) => child.name);
		choice(filters, "Scope", [["", "Any scope"], ...scopesOf(folders).map((scope) => [scope, scope] as const)], "", (value) => {
			this.within = value;
			again();
		});
		this.sayEl = this.bodyEl.createDiv({ cls: "vaultsync-say", attr: { role: "status", "aria-live": "polite" } });
		this.hitsEl = this.bodyEl.createEl("ol", { cls: "vaultsync-hits", attr: { "aria-label": "Hits" } });
		this.register(this.host.picks.listen(() => this.markPicked()));
		this.register(() => this.typed.stop());
		this.inputEl.addEventListener("keydown", (event) => {
			if (event.isComposing) return;
			if (event.key === "Enter") {
				this.typed.stop();
				void this.ask("auto");
			} else if (event.key === "ArrowDown") {
				event.preventDefault();
				this.hitsEl.querySelector<HTMLElement>(".vaultsync-hit-title")?.focus();
			}
		});
		this.hitsEl.addEventListener("keydown", (event) => this.walk(event));
		this.rest();
	}

	protected override async update(): Promise<void> {
		if (this.inputEl.value.trim() !== "") await this.ask(this.mode, false);
	}

	/** Ask, and say so unless the user did not start it. */
	private async ask(mode: "auto" | "index", told = true): Promise<void> {
		this.mode = mode;
		this.asking?.abort();
		const query = this.inputEl.value.trim();
		if (query === "") {
			this.shownNow = "";
			this.rest();
			return;
		}
		const asking = (this.asking = new AbortController());
		this.loud ||= told;
		if (mode === "auto" && told) this.say("Running semantic search…");
		const tier = Object.entries(TIERS).find(([name]) => name === this.tier)?.[1];
		const asked = {
			query,
			mode,
			limit: MOST,
			...(this.type === "" ? {} : { types: [this.type] }),
			...(this.within === "" ? {} : { scopes: [this.within] }),
			...(tier ? { max_priority: tier.priority } : {}),
			...(this.all ? { all: true } : {}),
		};
		try {
			const answer = await this.host.bridge.recall(asked, asking.signal);
			if (!asking.signal.aborted) this.draw(answer);
		} catch (error) {
			if (asking.signal.aborted) return;
			this.shownNow = "";
			this.hitsEl.empty();
			this.say(inWords(error));
		}
	}

	private draw(answer: Recall): void {
		const now = JSON.stringify([this.mode, { ...answer, seconds: 0 }]);
		if (now === this.shownNow && !this.loud) return;
		this.shownNow = now;
		this.loud = false;
		keepingFocus(this.hitsEl, () => this.drawHits(answer));
	}

	private drawHits(answer: Recall): void {
		this.hitsEl.empty();
		const took = answer.seconds < 0.0095 ? "under 10 ms" : duration(answer.seconds);
		const lacks = answer.degraded.map((sentence) => ` ${sentence}`).join("");
		const hint = this.mode === "index" ? " Press Enter for semantic search." : "";
		this.say(`${many(answer.hits.length, "hit", "hits")} ${sourceWords(answer.source)}, ${took}.${lacks}${hint}`);
		if (answer.hits.length === 0) {
			const advice = this.mode === "index" ? "Press Enter for semantic search." : "Try other words, or fewer filters.";
			empty(this.hitsEl, "search-x", "Nothing found", answer.nothing_known || advice);
		}
		for (const hit of answer.hits) this.drawHit(hit);
		const hidden = hiddenWords(answer.hidden);
		if (hidden !== "") this.drawHidden(hidden);
	}

	private drawHidden(words: string): void {
		const el = this.hitsEl.createEl("li", { cls: "vaultsync-muted", text: `${words} ` });
		link(el, "Show all", () => {
			this.all = true;
			this.inputEl.focus();
			void this.ask(this.mode);
		});
	}

	private drawHit(hit: Hit): void {
		const { foot, actions } = drawHit(this.hitsEl, this.host, hit);
		const score = createDiv({ cls: "vaultsync-score", attr: { "aria-label": `Score ${hit.score.toFixed(2)}`, role: "img" } });
		score.createDiv({ cls: "vaultsync-score-bar" }).setCssProps({ "--vaultsync-score": `${Math.round(Math.min(1, Math.max(0, hit.score)) * 100)}%` });
		foot.prepend(score);
		const pick = iconButton(actions, "package-plus", "Add to pack", () => this.pick(hit));
		pick.addClass("vaultsync-pick");
		pick.setAttr("data-key", "pick");
		this.markPicked();
	}

	/** Show how to ask. */
	private rest(): void {
		this.say("");
		this.hitsEl.empty();
		const typing = this.host.settings.whileTyping ? "Keyword results appear while you type. " : "";
		empty(this.hitsEl, "brain-circuit", "Ask the memory", `${typing}Press Enter for semantic search.`);
	}

	private markPicked(): void {
		for (const el of Array.from(this.hitsEl.querySelectorAll<HTMLElement>(".vaultsync-hit"))) {
			const picked = this.host.picks.has(el.getAttribute("data-id") ?? "");
			const pick = el.querySelector<HTMLElement>(".vaultsync-pick");
			pick?.toggleClass("is-active", picked);
			pick?.setAttrs({ "aria-pressed": String(picked), "aria-label": picked ? "Remove from the pack" : "Add to pack" });
		}
	}

	private async pick(hit: Hit): Promise<void> {
		if (this.host.picks.has(hit.id)) this.host.picks.remove(hit.id);
		else await this.host.attempt(async () => this.host.picks.add(await this.host.bridge.fact(hit.id)));
	}

	private walk(event: KeyboardEvent): void {
		if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
		const titles = Array.from(this.hitsEl.querySelectorAll<HTMLElement>(".vaultsync-hit-title"));
		const at = titles.findIndex((title) => title.closest("li")?.contains(title.doc.activeElement));
		if (at < 0) return;
		event.preventDefault();
		(titles[at + (event.key === "ArrowDown" ? 1 : -1)] ?? (event.key === "ArrowUp" ? this.inputEl : null))?.focus();
	}

	private say(words: string): void {
		say(this.sayEl, words);
	}
}
