/** The tables of contents in `.index/`, which Obsidian hides. */

import { Component, MarkdownRenderer } from "obsidian";
import { VIEWS } from "../host";
import { size } from "../words";
import { BridgeView } from "./bridge-view";
import { empty, keepingFocus } from "./parts";

const FIRST = "vault-index.md";

export class IndexView extends BridgeView {
	override navigation = true;
	private name = FIRST;
	private shownNow = "";
	private rendering: Component | null = null;

	override getViewType(): string {
		return VIEWS.index;
	}

	override getDisplayText(): string {
		return "Memory index";
	}

	override getIcon(): string {
		return "list-tree";
	}

	protected override build(): void {
		// Links in a text that is no note of the workspace do nothing by themselves.
		this.bodyEl.addEventListener("click", (event) => {
			const target = (event.target as HTMLElement | null)?.closest("a.internal-link");
			const href = target?.getAttribute("data-href");
			if (href === null || href === undefined) return;
			event.preventDefault();
			void this.app.workspace.openLinkText(href, "", event.ctrlKey || event.metaKey);
		});
	}

	protected override async update(stale: () => boolean): Promise<void> {
		const found = await this.host.bridge.indexFiles();
		const files = [...found].sort((a, b) => Number(b.name === FIRST) - Number(a.name === FIRST));
		if (stale()) return;
		if (files.length === 0) {
			this.shownNow = "";
			this.bodyEl.empty();
			empty(this.bodyEl, "list-tree", "No index yet", "It is written after the next sync.");
			return;
		}
		if (!files.some((file) => file.name === this.name)) this.name = files[0]?.name ?? FIRST;
		const text = await this.host.bridge.indexFile(this.name);
		const now = JSON.stringify([this.name, files, text]);
		if (stale() || now === this.shownNow) return;
		this.shownNow = now;
		await this.draw(files, text);
	}

	private async draw(files: readonly { name: string; bytes: number }[], text: string): Promise<void> {
		if (this.rendering) this.removeChild(this.rendering);
		this.rendering = this.addChild(new Component());
		const page = createDiv({ cls: "vaultsync-index markdown-rendered", attr: { role: "tabpanel", tabindex: "0", "aria-label": titleOf(this.name), "data-key": "page" } });
		await MarkdownRenderer.render(this.app, body(text), page, "", this.rendering);
		const { scrollTop } = this.contentEl;
		keepingFocus(this.bodyEl, () => {
			this.bodyEl.empty();
			const tabs = this.bodyEl.createDiv({ cls: "vaultsync-tabs", attr: { role: "tablist", "aria-label": "Tables of contents" } });
			for (const file of files) this.drawTab(tabs, file.name, file.bytes);
			this.bodyEl.append(page);
		});
		this.contentEl.scrollTop = scrollTop;
	}

	private drawTab(parent: HTMLElement, name: string, bytes: number): void {
		const chosen = name === this.name;
		const el = parent.createEl("button", {
			cls: "vaultsync-tab",
			text: titleOf(name),
			attr: { type: "button", role: "tab", "aria-selected": String(chosen), "aria-label": `${titleOf(name)}, ${size(bytes)}`, tabindex: chosen ? "0" : "-1", "data-key": name },
		});
		el.addEventListener("click", () => void this.turnTo(name));
		el.addEventListener("keydown", (event) => {
			const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
			const tabs = Array.from(parent.querySelectorAll<HTMLElement>(".vaultsync-tab"));
			const next = tabs[tabs.indexOf(el) + step];
			if (step !== 0 && next) {
				next.focus();
				next.click();
			}
		});
	}

	private async turnTo(name: string): Promise<void> {
		this.name = name;
		this.contentEl.scrollTop = 0;
		await this.refresh();
		this.bodyEl.querySelector<HTMLElement>(".vaultsync-tab[aria-selected=true]")?.focus();
	}
}

/** `by-entity.md` -> “By entity”. */
function titleOf(name: string): string {
	const words = name.replace(/\.md$/, "").replace(/-/g, " ");
	return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The text without its frontmatter. */
function body(text: string): string {
	return text.replace(/^---\n[\s\S]*?\n---\n/, "");
}
