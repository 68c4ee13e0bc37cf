/** Dialogs: a choice, a confirmation, a text, a new fact. */

import { FuzzySuggestModal, Modal, Notice, Setting, type App } from "obsidian";
import { TIERS, TYPES, tierOf } from "./words";

export interface Option<T> {
	words: string;
	value: T;
}

class Choose<T> extends FuzzySuggestModal<Option<T>> {
	private chosen: T | null = null;

	constructor(
		app: App,
		placeholder: string,
		private readonly options: Option<T>[],
		private readonly done: (value: T | null) => void,
	) {
		super(app);
		this.setPlaceholder(placeholder);
	}

	override getItems(): Option<T>[] {
		return this.options;
	}

	override getItemText(option: Option<T>): string {
		return option.words;
	}

	override onChooseItem(option: Option<T>): void {
		this.chosen = option.value;
		this.done(option.value);
	}

	override onClose(): void {
		// The app closes the modal before it says what was chosen.
		window.setTimeout(() => {
			if (this.chosen === null) this.done(null);
		}, 0);
	}
}

/** The option that the user chooses; null when none. */
export function choose<T>(app: App, placeholder: string, options: Option<T>[]): Promise<T | null> {
	return new Promise((done) => new Choose(app, placeholder, options, done).open());
}

class Form extends Modal {
	private answered = false;
	private sending = false;

	constructor(
		app: App,
		title: string,
		private readonly cta: string,
		private readonly danger: boolean,
		fill: (form: HTMLElement) => void,
		/** Does what the form is for; the form stays, with what was typed, when that fails. */
		private readonly work: () => Promise<boolean>,
		private readonly done: (sent: boolean) => void,
	) {
		super(app);
		this.setTitle(title);
		fill(this.contentEl);
	}

	override onOpen(): void {
		const { controlEl } = new Setting(this.contentEl)
			.addButton((button) => {
				button.setButtonText(this.cta).onClick(() => void this.send());
				if (this.danger) button.buttonEl.addClass("mod-warning");
				else button.setCta();
			})
			.addButton((button) => button.setButtonText("Cancel").onClick(() => this.close()));
		this.scope.register(["Mod"], "Enter", () => void this.send());
		// Where there is nothing to write, on Cancel: a key that is still held must not confirm.
		(this.contentEl.querySelector<HTMLElement>("textarea, input") ?? controlEl.querySelector<HTMLElement>("button:last-of-type"))?.focus();
	}

	override onClose(): void {
		if (this.answered) return;
		this.answered = true;
		this.done(false);
	}

	private async send(): Promise<void> {
		if (this.sending) return;
		this.sending = true;
		this.modalEl.setAttr("aria-busy", "true");
		const done = await this.work();
		this.modalEl.setAttr("aria-busy", null);
		this.sending = false;
		if (!done || this.answered) return;
		this.answered = true;
		this.close();
		this.done(true);
	}
}

/** Whether the user confirms. */
export function confirm(app: App, title: string, words: string, cta: string): Promise<boolean> {
	const fill = (form: HTMLElement): void => void form.createEl("p", { text: words });
	return new Promise((done) => new Form(app, title, cta, true, fill, () => Promise.resolve(true), done).open());
}

/** Let the user write a text, and save it; the dialog stays until that succeeds. Returns whether it did, false when cancelled. */
export function write(app: App, title: string, words: string, text: string, cta: string, save: (text: string) => Promise<boolean>): Promise<boolean> {
	return new Promise((done) => {
		let typed = text;
		const fill = (form: HTMLElement): void => {
			form.createEl("p", { cls: "vaultsync-muted", text: words });
			const area = form.createEl("textarea", { cls: "vaultsync-area", attr: { rows: "8", "aria-label": title } });
			area.value = text;
			area.addEventListener("input", () => (typed = area.value));
		};
		new Form(app, title, cta, false, fill, () => saved(typed, () => save(typed)), done).open();
	});
}

/** Save a text, unless it is empty. */
async function saved(text: string, save: () => Promise<boolean>): Promise<boolean> {
	if (text.trim() !== "") return save();
	new Notice("Write a text first.");
	return false;
}

export interface Remembered {
	text: string;
	type: string;
	title: string;
	scope: string;
	priority: number;
}

/** Let the user describe a new fact, and save it; the dialog stays until that succeeds. Returns whether it did, false when cancelled. */
export function remembering(app: App, first: Remembered, scopes: string[], save: (made: Remembered) => Promise<boolean>): Promise<boolean> {
	return new Promise((done) => {
		const made = { ...first };
		const fill = (form: HTMLElement): void => {
			const area = form.createEl("textarea", { cls: "vaultsync-area", attr: { rows: "6", placeholder: "What to remember", "aria-label": "What to remember" } });
			area.value = made.text;
			area.addEventListener("input", () => (made.text = area.value));
			new Setting(form).setName("Title").addText((text) =>
				text.setPlaceholder("From the text").setValue(made.title).onChange((value) => (made.title = value)),
			);
			new Setting(form).setName("Type").addDropdown((down) => {
				for (const type of TYPES) down.addOption(type, type);
				down.setValue(made.type).onChange((value) => (made.type = value));
			});
			new Setting(form).setName("Tier").addDropdown((down) => {
				for (const [tier, { label }] of Object.entries(TIERS)) down.addOption(tier, label);
				down.setValue(tierOf(made.priority)).onChange((value) => {
					made.priority = Object.entries(TIERS).find(([tier]) => tier === value)?.[1].priority ?? made.priority;
				});
			});
			new Setting(form).setName("Scope").setDesc("Who may see it.").addDropdown((down) => {
				down.addOption("", "The vault’s default");
				for (const scope of scopes) down.addOption(scope, scope);
				down.setValue(made.scope).onChange((value) => (made.scope = value));
			});
		};
		new Form(app, "Remember", "Remember", false, fill, () => saved(made.text, () => save(made)), done).open();
	});
}
