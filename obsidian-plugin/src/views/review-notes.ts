/** Conflicts or proposals by their notes, to be read: what a device without a daemon can show. */

import { type App, Component, debounce, ItemView, MarkdownRenderer, type TAbstractFile, TFile, type WorkspaceLeaf } from "obsidian";
import type { NoteOpener } from "../host";
import { isReviewNote, reviewNote, type Reviewed, type ReviewNote } from "../review-notes";
import { kindWords, many } from "../words";
import { button, chip, empty } from "./parts";

/** How many notes are read and drawn at once. */
const MANY = 50;

const WORDS: Record<Reviewed, { title: string; icon: string; one: string; more: string; none: string; how: string }> = {
	conflict: {
		title: "Memory conflicts",
		icon: "git-compare",
		one: "conflict",
		more: "conflicts",
		none: "No conflicts",
		how: "The note keeps your version until you tick a box in the conflict note.",
	},
	proposal: {
		title: "Memory proposals",
		icon: "list-checks",
		one: "proposal",
		more: "proposals",
		none: "No proposals",
		how: "Nothing changes until you tick a box in the note of the proposal.",
	},
};
const HERE = "This device has no daemon. The computer with the daemon applies your answer when the note is synced to it.";

export class ReviewNotesView extends ItemView {
	override navigation = true;
	private rendering: Component | null = null;
	private current = "";
	private shown: ReadonlySet<string> = new Set();
	private round = 0;
	private most = MANY;

	constructor(
		leaf: WorkspaceLeaf,
		private readonly host: NoteOpener,
		private readonly type: string,
		private readonly kind: Reviewed,
	) {
		super(leaf);
	}

	override getViewType(): string {
		return this.type;
	}

	override getDisplayText(): string {
		return WORDS[this.kind].title;
	}

	override getIcon(): string {
		return WORDS[this.kind].icon;
	}

	override async onOpen(): Promise<void> {
		this.contentEl.addClass("vaultsync-view");
		const soon = debounce(() => void this.draw(), 200, true);
		const { metadataCache, vault } = this.app;
		const concerns = (file: TAbstractFile): void => {
			if (this.shown.has(file.path) || (file instanceof TFile && isReviewFile(this.app, file, this.kind))) soon();
		};
		this.registerEvent(metadataCache.on("changed", concerns));
		this.registerEvent(vault.on("delete", concerns));
		this.registerEvent(vault.on("rename", concerns));
		await this.draw();
	}

	/** The first notes, those that expire first before others, and how many more there are. */
	private async found(): Promise<{ notes: ReviewNote[]; more: number }> {
		const files = reviewFiles(this.app, this.kind).map((file) => ({ file, expires: String(this.app.metadataCache.getFileCache(file)?.frontmatter?.["expires"] ?? "") }));
		files.sort((a, b) => a.expires.localeCompare(b.expires) || a.file.basename.localeCompare(b.file.basename));
		const notes = await Promise.all(files.slice(0, this.most).map(({ file }) => this.read(file)));
		return { notes: notes.filter((note) => note !== null), more: Math.max(0, files.length - this.most) };
	}

	/** A file that cannot be read, such as one that a cloud has not sent yet, is left out. */
	private async read(file: TFile): Promise<ReviewNote | null> {
		try {
			return reviewNote(file.path, await this.app.vault.cachedRead(file), this.kind);
		} catch {
			return null;
		}
	}

	private async draw(): Promise<void> {
		const round = ++this.round;
		const { notes, more: left } = await this.found();
		if (round !== this.round) return;
		this.shown = new Set(notes.map(({ path }) => path));
		const { none, one, more, how } = WORDS[this.kind];
		const focused = this.contentEl.doc.activeElement?.getAttr("data-key") ?? null;
		this.contentEl.empty();
		const body = this.contentEl.createDiv({ cls: "vaultsync-body" });
		if (notes.length + left === 0) {
			empty(body, "check-check", none, HERE);
			return;
		}
		body.createDiv({ cls: "vaultsync-lead", text: `${many(notes.length + left, one, more)}. ${how}` });
		body.createDiv({ cls: "vaultsync-muted", text: HERE });
		const list = body.createEl("ol", { cls: "vaultsync-proposals", attr: { "aria-label": WORDS[this.kind].title } });
		if (this.rendering) this.removeChild(this.rendering);
		const rendering = (this.rendering = this.addChild(new Component()));
		for (const note of notes) await this.drawNote(list, note, rendering, note.path === focused);
		if (left > 0) {
			button(list.createEl("li", { cls: "vaultsync-more" }), `Show more (${left.toLocaleString("en")})`, () => {
				this.most += MANY;
				return this.draw();
			});
		}
	}

	private async drawNote(list: HTMLElement, note: ReviewNote, rendering: Component, focus: boolean): Promise<void> {
		const here = note.path === this.current;
		const el = list.createEl("li", { cls: "vaultsync-proposal" });
		el.toggleClass("is-current", here);
		const head = el.createEl("button", { cls: "vaultsync-proposal-head", attr: { type: "button", "aria-expanded": String(here), "data-key": note.path } });
		head.addEventListener("click", () => {
			this.current = here ? "" : note.path;
			void this.draw();
		});
		const top = head.createDiv({ cls: "vaultsync-proposal-top" });
		top.createSpan({ cls: "vaultsync-proposal-title", text: note.title });
		if (note.proposal !== "") chip(top, kindWords(note.proposal));
		if (note.expires !== "") head.createDiv({ cls: "vaultsync-muted", text: `Until ${note.expires.slice(0, 10)}` });
		if (note.ticked.length > 0) head.createDiv({ cls: "vaultsync-stale-word", text: `Ticked: ${note.ticked.join("; ")}. It waits for the next sync.` });
		if (focus) head.focus({ preventScroll: true });
		if (!here) return;
		const body = el.createDiv({ cls: "vaultsync-proposal-body" });
		const text = body.createDiv({ cls: "markdown-rendered vaultsync-review-text" });
		await MarkdownRenderer.render(this.app, note.body, text, note.path, rendering);
		text.addEventListener("click", (event) => {
			const href = (event.target as HTMLElement | null)?.closest("a.internal-link")?.getAttribute("data-href");
			if (typeof href !== "string") return;
			event.preventDefault();
			void this.app.workspace.openLinkText(href, note.path);
		});
		const actions = body.createDiv({ cls: "vaultsync-actions vaultsync-choose" });
		button(actions, "Open note to answer", () => this.host.openNote(note.path), "mod-cta");
	}
}

/** The files of such notes, as far as Obsidian has read them: without reading any. */
export function reviewFiles(app: App, kind: Reviewed): TFile[] {
	return app.vault.getMarkdownFiles().filter((file) => isReviewFile(app, file, kind));
}

function isReviewFile(app: App, file: TFile, kind: Reviewed): boolean {
	const cached = app.metadataCache.getFileCache(file);
	return isReviewNote(file.path, cached ? (cached.frontmatter ?? {}) : undefined, kind);
}
