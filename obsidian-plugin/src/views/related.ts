/** Facts related to the paragraph that the user is writing. */

import { MarkdownView, type Editor } from "obsidian";
import type { Hit } from "../answers";
import { factIdOf } from "../app-vault";
import { VIEWS } from "../host";
import { paragraphAt } from "../paragraph";
import { BridgeView } from "./bridge-view";
import { drawHit } from "./hits";
import { button, empty, say } from "./parts";

/** How long the user must have paused, in milliseconds: longer than between two words. */
const PAUSE = 700;
const MOST = 6;
/** Share of the best score that a hit must have: a paragraph has many words, and one in common says little. */
const SHARE = 0.5;

export class RelatedView extends BridgeView {
	private sayEl!: HTMLElement;
	private hitsEl!: HTMLElement;
	private asked = "";
	private shownNow = "";
	private timer = 0;

	override getViewType(): string {
		return VIEWS.related;
	}

	override getDisplayText(): string {
		return "Related facts";
	}

	override getIcon(): string {
		return "sparkles";
	}

	protected override build(): void {
		this.sayEl = this.bodyEl.createDiv({ cls: "vaultsync-say", attr: { role: "status", "aria-live": "off" } });
		this.hitsEl = this.bodyEl.createEl("ol", { cls: "vaultsync-hits", attr: { "aria-label": "Related facts" } });
		this.registerEvent(this.app.workspace.on("editor-change", () => this.soon()));
		this.registerEvent(this.app.workspace.on("active-leaf-change", () => this.soon()));
		this.register(() => window.clearTimeout(this.timer));
	}

	protected override async update(stale: () => boolean): Promise<void> {
		if (!this.host.settings.whileWriting) {
			this.off();
			return;
		}
		const { editor, id } = this.writing();
		const words = editor ? paragraphAt(editor, editor.getCursor().line) : "";
		if (words === "") {
			// What was found stays while the next paragraph begins.
			if (this.shownNow === "") this.say("Write in a note. Facts related to the paragraph appear here.");
			return;
		}
		if (words === this.asked) return;
		// The answer to what the user asked comes first.
		if (this.host.bridge.asking) {
			this.soon();
			return;
		}
		const { hits } = await this.host.bridge.recall({ query: words, mode: "index", limit: MOST + 1 });
		// An answer that another update made stale is not shown, so that one has to ask again.
		if (stale()) return;
		this.asked = words;
		const others = hits.filter((hit) => hit.id !== id);
		const least = SHARE * Math.max(0, ...others.map(({ score }) => score));
		this.draw(others.filter(({ score }) => score >= least).slice(0, MOST));
	}

	/** Look again when the user pauses. */
	private soon(): void {
		window.clearTimeout(this.timer);
		this.timer = window.setTimeout(() => {
			if (this.host.line().kind === "on" && this.containerEl.isShown()) void this.refresh();
		}, PAUSE);
	}

	/** The editor in which the user writes, and the id of the fact that its note is. */
	private writing(): { editor: Editor | null; id: string | null } {
		const view = this.app.workspace.getActiveViewOfType(MarkdownView) ?? this.app.workspace.getMostRecentLeaf()?.view;
		if (!(view instanceof MarkdownView)) return { editor: null, id: null };
		return { editor: view.editor, id: view.file && factIdOf(this.app, view.file) };
	}

	private draw(hits: readonly Hit[]): void {
		const now = JSON.stringify(hits.map(({ id, why }) => [id, why]));
		if (now === this.shownNow) return;
		this.shownNow = now;
		this.hitsEl.empty();
		this.say(hits.length === 0 ? "Nothing in the memory is related to this paragraph." : "Related to the paragraph that you are writing:");
		for (const hit of hits) drawHit(this.hitsEl, this.host, hit);
	}

	private off(): void {
		this.asked = "";
		this.shownNow = "";
		this.say("");
		this.hitsEl.empty();
		const el = empty(this.hitsEl, "sparkles", "Switched off", "Related facts are not looked up while you write.");
		button(el, "Settings", () => this.host.openSettings());
	}

	private say(words: string): void {
		say(this.sayEl, words);
	}
}
