/** Panes, views and editors. */

import { setIcon } from "./icons";
import { MarkdownRenderer } from "./markdown";
import { Events, properties, type EventRef, type TFile } from "./vault";
import type { App } from "./app";

export class Component {
	private readonly ends: (() => void)[] = [];
	private readonly children: Component[] = [];

	onload(): unknown {
		return undefined;
	}

	onunload(): void {
		// Parts end by what they registered.
	}

	register(end: () => unknown): void {
		this.ends.push(() => void end());
	}

	registerEvent(event: EventRef): void {
		this.register(event.off);
	}

	registerDomEvent(el: EventTarget, kind: string, heard: (event: never) => void): void {
		el.addEventListener(kind, heard as EventListener);
		this.register(() => el.removeEventListener(kind, heard as EventListener));
	}

	addChild<T extends Component>(child: T): T {
		this.children.push(child);
		void child.onload();
		return child;
	}

	removeChild<T extends Component>(child: T): T {
		child.unload();
		return child;
	}

	unload(): void {
		for (const child of this.children) child.unload();
		this.onunload();
		for (const end of this.ends.splice(0)) end();
	}
}

export abstract class View extends Component {
	navigation = true;
	readonly app: App;
	readonly containerEl: HTMLElement;

	constructor(readonly leaf: WorkspaceLeaf) {
		super();
		this.app = leaf.app;
		this.containerEl = createDiv({ cls: "workspace-leaf-content" });
	}

	abstract getViewType(): string;
	abstract getDisplayText(): string;

	getIcon(): string {
		return "file-text";
	}

	onResize(): void {
		// Views draw themselves.
	}

	async onOpen(): Promise<void> {
		// Views draw themselves.
	}

	async onClose(): Promise<void> {
		// Views clean up themselves.
	}
}

export abstract class ItemView extends View {
	readonly contentEl: HTMLElement;

	constructor(leaf: WorkspaceLeaf) {
		super(leaf);
		this.contentEl = this.containerEl.createDiv({ cls: "view-content" });
	}
}

class Editor {
	constructor(
		private readonly area: HTMLTextAreaElement,
		private readonly typed: () => void,
	) {}

	focus(): void {
		this.area.focus();
	}

	getValue(): string {
		return this.area.value;
	}

	setValue(text: string): void {
		this.area.value = text;
		this.typed();
	}

	getCursor(): { line: number; ch: number } {
		const before = this.area.value.slice(0, this.area.selectionStart).split("\n");
		return { line: before.length - 1, ch: (before.at(-1) ?? "").length };
	}

	lineCount(): number {
		return this.area.value.split("\n").length;
	}

	getLine(line: number): string {
		return this.area.value.split("\n")[line] ?? "";
	}

	getSelection(): string {
		return this.area.value.slice(this.area.selectionStart, this.area.selectionEnd);
	}

	replaceSelection(text: string): void {
		this.area.setRangeText(text, this.area.selectionStart, this.area.selectionEnd, "end");
		this.typed();
	}
}

/** Saves two seconds after the last letter, as the app does. */
export class MarkdownView extends ItemView {
	file: TFile | null = null;
	readonly editor: Editor;
	private readonly areaEl: HTMLTextAreaElement;
	private readonly pageEl: HTMLElement;
	private data = "";
	private dirty = false;
	private timer = 0;

	constructor(leaf: WorkspaceLeaf) {
		super(leaf);
		this.pageEl = this.contentEl.createDiv({ cls: "markdown-rendered markdown-page" });
		this.areaEl = this.contentEl.createEl("textarea", { cls: "markdown-source", attr: { "aria-label": "Editor" } });
		this.areaEl.hide();
		this.editor = new Editor(this.areaEl, () => this.typed());
		this.areaEl.addEventListener("input", () => this.typed());
		this.app.vault.on("modify", (file: TFile) => {
			// A file that was deleted meanwhile has nothing to show; "delete" follows.
			if (file === this.file && !this.dirty) this.show(file).catch(() => undefined);
		});
		this.app.vault.on("delete", (file: TFile) => {
			if (file === this.file) this.pageEl.empty();
		});
	}

	override getViewType(): string {
		return "markdown";
	}

	override getDisplayText(): string {
		return this.file?.basename ?? "New tab";
	}

	getViewData(): string {
		return this.areaEl.value;
	}

	getMode(): "source" | "preview" {
		return this.areaEl.style.display === "none" ? "preview" : "source";
	}

	/** The source, to be edited, instead of the page. */
	edit(): void {
		this.pageEl.hide();
		this.areaEl.show();
		this.areaEl.focus();
	}

	/** The page, to be read. */
	look(): void {
		this.areaEl.hide();
		this.pageEl.show();
	}

	async show(file: TFile): Promise<void> {
		this.file = file;
		this.data = await this.app.vault.read(file);
		this.areaEl.value = this.data;
		this.pageEl.empty();
		this.pageEl.createDiv({ cls: "inline-title", text: file.basename });
		this.drawProperties();
		await MarkdownRenderer.render(this.app, this.data.replace(/^---\r?\n[\s\S]*?\r?\n---\r?\n/, ""), this.pageEl);
	}

	async save(): Promise<void> {
		window.clearTimeout(this.timer);
		if (!this.dirty || !this.file) return;
		this.dirty = false;
		await this.app.vault.modify(this.file, this.areaEl.value);
	}

	private typed(): void {
		this.dirty = true;
		this.app.workspace.trigger("editor-change", this.editor, this);
		window.clearTimeout(this.timer);
		this.timer = window.setTimeout(() => void this.save(), 2000);
	}

	private drawProperties(): void {
		const found = Object.entries(properties(this.data));
		if (found.length === 0) return;
		const el = this.pageEl.createDiv({ cls: "metadata-container" });
		el.createDiv({ cls: "metadata-heading", text: "Properties" });
		for (const [key, value] of found) {
			const row = el.createDiv({ cls: "metadata-row" });
			row.createSpan({ cls: "metadata-key", text: key });
			const values = row.createSpan({ cls: "metadata-value" });
			for (const each of Array.isArray(value) ? value : [value]) {
				values.createSpan({ cls: Array.isArray(value) ? "metadata-pill" : "", text: String(each).replace(/\[\[|\]\]/g, "") });
			}
		}
	}
}

type Split = "main" | "right";

export class WorkspaceLeaf {
	view!: View;
	readonly tabEl: HTMLElement;

	constructor(
		readonly app: App,
		readonly split: Split,
	) {
		this.tabEl = createDiv({ cls: "workspace-tab-header", attr: { role: "tab" } });
		this.tabEl.addEventListener("click", () => void app.workspace.revealLeaf(this));
	}

	async setViewState({ type }: { type: string; active?: boolean }): Promise<void> {
		const make = this.app.workspace.makers.get(type);
		await this.open(make ? make(this) : new MarkdownView(this));
	}

	async openFile(file: TFile): Promise<void> {
		const here = this.view;
		const view = here instanceof MarkdownView ? here : new MarkdownView(this);
		if (view !== here) await this.open(view);
		await view.show(file);
		await this.app.workspace.revealLeaf(this);
		this.drawTab();
		this.app.workspace.trigger("file-open", file);
	}

	drawTab(): void {
		this.tabEl.empty();
		this.tabEl.setAttr("aria-label", this.view.getDisplayText());
		if (this.split === "right") setIcon(this.tabEl.createSpan({ cls: "tab-icon" }), this.view.getIcon());
		else this.tabEl.createSpan({ text: this.view.getDisplayText() });
	}

	private async open(view: View): Promise<void> {
		const old = this.view as View | undefined;
		old?.unload();
		old?.containerEl.remove();
		this.view = view;
		this.app.workspace.splits[this.split].append(view.containerEl);
		await view.onload();
		await view.onOpen();
		this.drawTab();
	}
}

export class Workspace extends Events {
	readonly makers = new Map<string, (leaf: WorkspaceLeaf) => View>();
	readonly splits: Record<Split, HTMLElement>;
	private readonly tabs: Record<Split, HTMLElement>;
	private readonly leaves: WorkspaceLeaf[] = [];
	private readonly active: Partial<Record<Split, WorkspaceLeaf>> = {};

	constructor(
		private readonly app: App,
		els: { main: HTMLElement; right: HTMLElement },
	) {
		super();
		const part = (el: HTMLElement): [HTMLElement, HTMLElement] => [
			el.createDiv({ cls: "workspace-tab-header-container", attr: { role: "tablist" } }),
			el.createDiv({ cls: "workspace-tab-container" }),
		];
		const main = part(els.main);
		const right = part(els.right);
		this.tabs = { main: main[0], right: right[0] };
		this.splits = { main: main[1], right: right[1] };
	}

	onLayoutReady(ready: () => void): void {
		ready();
	}

	getLeavesOfType(type: string): WorkspaceLeaf[] {
		return this.leaves.filter((leaf) => leaf.view.getViewType() === type);
	}

	getLeaf(how: boolean | "tab"): WorkspaceLeaf {
		const here = this.active.main;
		if (here?.view.navigation === true && how === false) return here;
		const other = this.leaves.find((leaf) => leaf.split === "main" && leaf.view instanceof MarkdownView);
		return how === false && other ? other : this.make("main");
	}

	getRightLeaf(): WorkspaceLeaf {
		return this.make("right");
	}

	getMostRecentLeaf(): WorkspaceLeaf | null {
		return this.active.main ?? null;
	}

	getActiveViewOfType(type: abstract new (...given: never[]) => unknown): View | null {
		const view = this.active.main?.view;
		return view && view instanceof type ? view : null;
	}

	getActiveFile(): TFile | null {
		const views = [this.active.main, ...this.leaves].filter((leaf) => leaf?.split === "main").map((leaf) => leaf?.view);
		return views.find((view) => view instanceof MarkdownView)?.file ?? null;
	}

	async revealLeaf(leaf: WorkspaceLeaf): Promise<void> {
		await Promise.resolve();
		this.active[leaf.split] = leaf;
		for (const each of this.leaves) {
			if (each.split !== leaf.split) continue;
			each.view.containerEl.toggle(each === leaf);
			each.tabEl.toggleClass("is-active", each === leaf);
		}
		this.trigger("active-leaf-change", leaf);
	}

	async openLinkText(link: string): Promise<void> {
		const file = this.app.metadataCache.getFirstLinkpathDest(link);
		if (file) await this.getLeaf(false).openFile(file);
	}

	private make(split: Split): WorkspaceLeaf {
		const leaf = new WorkspaceLeaf(this.app, split);
		leaf.view = new Nothing(leaf);
		this.leaves.push(leaf);
		this.tabs[split].append(leaf.tabEl);
		return leaf;
	}
}

class Nothing extends ItemView {
	override getViewType(): string {
		return "empty";
	}

	override getDisplayText(): string {
		return "New tab";
	}
}
