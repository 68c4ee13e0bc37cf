/** Dialogs: a choice, a confirmation, a text, a new fact. */

import { FuzzySuggestModal, Modal, Setting, type App } from "obsidian";
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

	constructor(
		app: App,
		title: string,
		private readonly cta: string,
		private readonly danger: boolean,
		fill: (form: HTMLElement, send: () => void) => void,
		private readonly done: (sent: boolean) => void,
	) {
		super(app);
		this.setTitle(title);
		fill(this.contentEl, () => this.send());
	}

	override onOpen(): void {
		new Setting(this.contentEl)
			.addButton((button) => {
				button.setButtonText(this.cta).onClick(() => this.send());
				if (this.danger) button.buttonEl.addClass("mod-warning");
				else button.setCta();
			})
			.addButton((button) => button.setButtonText("Cancel").onClick(() => this.close()));
		this.scope.register(["Mod"], "Enter", () => this.send());
		this.contentEl.querySelector<HTMLElement>("textarea, input")?.focus();
	}

	override onClose(): void {
		if (!this.answered) this.done(false);
	}

	private send(): void {
		this.answered = true;
		this.close();
		this.done(true);
	}
}

/** Whether the user confirms. */
export function confirm(app: App, title: string, words: string, cta: string): Promise<boolean> {
	return new Promise((done) => new Form(app, title, cta, true, (form) => form.createEl("p", { text: words }), done).open());
}

/** The text that the user writes; null when cancelled. */
export function write(app: App, title: string, words: string, text: string, cta: string): Promise<string | null> {
	return new Promise((done) => {
		let typed = text;
		const fill = (form: HTMLElement): void => {
			form.createEl("p", { cls: "vaultsync-muted", text: words });
			const area = form.createEl("textarea", { cls: "vaultsync-area", attr: { rows: "8", "aria-label": title } });
			area.value = text;
			area.addEventListener("input", () => (typed = area.value));
		};
		new Form(app, title, cta, false, fill, (sent) => done(sent && typed.trim() !== "" ? typed : null)).open();
	});
}

export interface Remembered {
	text: string;
	type: string;
	title: string;
	scope: string;
	priority: number;
}

/** The new fact that the user describes; null when cancelled. */
export function remembering(app: App, first: Remembered, scopes: string[]): Promise<Remembered | null> {
	return new Promise((done) => {
		const made = { ...first };
		const fill = (form: HTMLElement): void => {
			const area = form.createEl("textarea", { cls: "vaultsync-area", attr: { rows: "6", "aria-label": "What to remember" } });
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
		new Form(app, "Remember", "Remember", false, fill, (sent) => done(sent && made.text.trim() !== "" ? made : null)).open();
	});
}
