/** Notices, modals and settings. */

import { setIcon } from "./icons";
import type { App } from "./app";

export class Notice {
	readonly messageEl: HTMLElement;

	constructor(message: string | DocumentFragment, duration = 5000) {
		const shelf = document.querySelector(".notice-container") ?? document.body.createDiv({ cls: "notice-container", attr: { "aria-live": "polite" } });
		this.messageEl = shelf.createDiv({ cls: "notice" });
		this.messageEl.setText(message);
		if (duration > 0) window.setTimeout(() => this.hide(), duration);
	}

	hide(): void {
		this.messageEl.remove();
	}
}

class Scope {
	readonly keys: { mods: string[]; key: string; pressed: () => unknown }[] = [];

	register(mods: string[], key: string, pressed: () => unknown): void {
		this.keys.push({ mods, key, pressed });
	}
}

export class Modal {
	readonly containerEl: HTMLElement;
	readonly modalEl: HTMLElement;
	readonly titleEl: HTMLElement;
	readonly contentEl: HTMLElement;
	readonly scope = new Scope();
	private before: Element | null = null;

	constructor(readonly app: App) {
		this.containerEl = createDiv({ cls: "modal-container" });
		this.modalEl = this.containerEl.createDiv({ cls: "modal", attr: { role: "dialog", "aria-modal": "true" } });
		this.titleEl = this.modalEl.createDiv({ cls: "modal-title" });
		this.contentEl = this.modalEl.createDiv({ cls: "modal-content" });
		this.containerEl.addEventListener("keydown", (event) => {
			if (event.key === "Escape") this.close();
			for (const { mods, key, pressed } of this.scope.keys) {
				if (event.key === key && mods.includes("Mod") === (event.ctrlKey || event.metaKey)) void pressed();
			}
		});
		this.containerEl.addEventListener("click", (event) => {
			if (event.target === this.containerEl) this.close();
		});
	}

	setTitle(title: string): this {
		this.titleEl.setText(title);
		this.modalEl.setAttr("aria-label", title);
		return this;
	}

	open(): void {
		this.before = document.activeElement;
		document.body.append(this.containerEl);
		this.onOpen();
	}

	close(): void {
		this.containerEl.remove();
		this.onClose();
		(this.before as HTMLElement | null)?.focus();
	}

	onOpen(): void {
		// Modals fill themselves.
	}

	onClose(): void {
		// Modals clean up themselves.
	}
}

export abstract class FuzzySuggestModal<T> extends Modal {
	private readonly inputEl = this.modalEl.createEl("input", { cls: "prompt-input" });
	private readonly listEl = this.modalEl.createDiv({ cls: "prompt-results" });

	abstract getItems(): T[];
	abstract getItemText(item: T): string;
	abstract onChooseItem(item: T): void;

	setPlaceholder(text: string): void {
		this.inputEl.placeholder = text;
	}

	override onOpen(): void {
		const draw = (): void => {
			this.listEl.empty();
			const sought = this.inputEl.value.toLowerCase();
			for (const item of this.getItems().filter((each) => this.getItemText(each).toLowerCase().includes(sought))) {
				const el = this.listEl.createDiv({ cls: "suggestion-item", text: this.getItemText(item) });
				el.addEventListener("click", () => {
					this.close();
					this.onChooseItem(item);
				});
			}
		};
		this.inputEl.addEventListener("input", draw);
		this.inputEl.addEventListener("keydown", (event) => {
			if (event.key === "Enter") (this.listEl.firstElementChild as HTMLElement | null)?.click();
		});
		draw();
		this.inputEl.focus();
	}
}

class Text {
	readonly inputEl: HTMLInputElement;

	constructor(parent: HTMLElement) {
		this.inputEl = parent.createEl("input", { type: "text", attr: { spellcheck: "false" } });
	}

	setPlaceholder(text: string): this {
		this.inputEl.placeholder = text;
		return this;
	}

	setValue(value: string): this {
		this.inputEl.value = value;
		return this;
	}

	onChange(changed: (value: string) => unknown): this {
		this.inputEl.addEventListener("input", () => void changed(this.inputEl.value));
		return this;
	}
}

class Toggle {
	readonly toggleEl: HTMLElement;
	private on = false;
	private changed: (value: boolean) => unknown = () => undefined;

	constructor(parent: HTMLElement) {
		this.toggleEl = parent.createDiv({ cls: "checkbox-container", attr: { role: "switch", tabindex: "0" } });
		this.toggleEl.addEventListener("click", () => {
			this.setValue(!this.on);
			void this.changed(this.on);
		});
	}

	setValue(on: boolean): this {
		this.on = on;
		this.toggleEl.toggleClass("is-enabled", on);
		this.toggleEl.setAttr("aria-checked", String(on));
		return this;
	}

	onChange(changed: (value: boolean) => unknown): this {
		this.changed = changed;
		return this;
	}
}

class Dropdown {
	readonly selectEl: HTMLSelectElement;

	constructor(parent: HTMLElement) {
		this.selectEl = parent.createEl("select", { cls: "dropdown" });
	}

	addOption(value: string, text: string): this {
		this.selectEl.createEl("option", { value, text });
		return this;
	}

	setValue(value: string): this {
		this.selectEl.value = value;
		return this;
	}

	onChange(changed: (value: string) => unknown): this {
		this.selectEl.addEventListener("change", () => void changed(this.selectEl.value));
		return this;
	}
}

class Button {
	readonly buttonEl: HTMLButtonElement;

	constructor(parent: HTMLElement) {
		this.buttonEl = parent.createEl("button", { attr: { type: "button" } });
	}

	setButtonText(text: string): this {
		this.buttonEl.setText(text);
		return this;
	}

	setCta(): this {
		this.buttonEl.addClass("mod-cta");
		return this;
	}

	onClick(pressed: () => unknown): this {
		this.buttonEl.addEventListener("click", () => void pressed());
		return this;
	}
}

/** A field with a button that clears it. */
export class SearchComponent {
	readonly inputEl: HTMLInputElement;
	readonly clearButtonEl: HTMLElement;
	private changed: (value: string) => unknown = () => undefined;

	constructor(parent: HTMLElement) {
		const box = parent.createDiv({ cls: "search-input-container" });
		this.inputEl = box.createEl("input", { type: "search" });
		this.clearButtonEl = box.createDiv({ cls: "search-input-clear-button", attr: { "aria-label": "Clear search" } });
		this.inputEl.addEventListener("input", () => this.onChanged());
		this.clearButtonEl.addEventListener("click", () => {
			this.inputEl.value = "";
			this.onChanged();
			this.inputEl.focus();
		});
	}

	setPlaceholder(words: string): this {
		this.inputEl.placeholder = words;
		return this;
	}

	onChange(changed: (value: string) => unknown): this {
		this.changed = changed;
		return this;
	}

	onChanged(): void {
		this.changed(this.inputEl.value);
	}
}

export class Setting {
	readonly settingEl: HTMLElement;
	readonly nameEl: HTMLElement;
	readonly descEl: HTMLElement;
	readonly controlEl: HTMLElement;

	constructor(parent: HTMLElement) {
		this.settingEl = parent.createDiv({ cls: "setting-item" });
		const info = this.settingEl.createDiv({ cls: "setting-item-info" });
		this.nameEl = info.createDiv({ cls: "setting-item-name" });
		this.descEl = info.createDiv({ cls: "setting-item-description" });
		this.controlEl = this.settingEl.createDiv({ cls: "setting-item-control" });
	}

	setName(name: string): this {
		this.nameEl.setText(name);
		return this;
	}

	setDesc(desc: string | DocumentFragment): this {
		this.descEl.setText(desc);
		return this;
	}

	addText(fill: (text: Text) => unknown): this {
		fill(new Text(this.controlEl));
		return this;
	}

	addToggle(fill: (toggle: Toggle) => unknown): this {
		fill(new Toggle(this.controlEl));
		return this;
	}

	addDropdown(fill: (down: Dropdown) => unknown): this {
		fill(new Dropdown(this.controlEl));
		return this;
	}

	addButton(fill: (button: Button) => unknown): this {
		fill(new Button(this.controlEl));
		return this;
	}
}

interface Definition {
	name: string;
	desc?: string;
	control?: { type: "text" | "toggle"; key: string; placeholder?: string };
	render?: (setting: Setting) => void;
}

/** Draws its definitions, as the app does from 1.13 on. */
export class PluginSettingTab {
	readonly containerEl = createDiv({ cls: "setting-tab" });
	icon = "settings";

	constructor(
		readonly app: App,
		readonly plugin: unknown,
	) {}

	getSettingDefinitions(): Definition[] {
		return [];
	}

	getControlValue(_key: string): unknown {
		return undefined;
	}

	setControlValue(_key: string, _value: unknown): void | Promise<void> {
		return undefined;
	}

	hide(): void {
		this.containerEl.empty();
	}

	draw(): void {
		this.containerEl.empty();
		for (const { name, desc, control, render } of this.getSettingDefinitions()) {
			const setting = new Setting(this.containerEl).setName(name);
			if (desc !== undefined) setting.setDesc(desc);
			if (render) render(setting);
			if (!control) continue;
			const value = this.getControlValue(control.key);
			const save = (changed: unknown): void => void this.setControlValue(control.key, changed);
			if (control.type === "toggle") setting.addToggle((toggle) => toggle.setValue(value === true).onChange(save));
			else setting.addText((text) => text.setPlaceholder(control.placeholder ?? "").setValue(String(value)).onChange(save));
		}
	}
}

export class SettingsModal extends Modal {
	private readonly tabs = new Map<string, PluginSettingTab>();

	constructor(app: App) {
		super(app);
		this.modalEl.addClass("mod-settings");
		this.setTitle("Vaultsync");
	}

	addTab(id: string, tab: PluginSettingTab): void {
		this.tabs.set(id, tab);
	}

	override onClose(): void {
		for (const tab of this.tabs.values()) tab.hide();
	}

	openTabById(id: string): void {
		const tab = this.tabs.get(id);
		if (!tab) return;
		this.contentEl.replaceChildren(tab.containerEl);
		tab.draw();
	}
}

export function ribbonButton(parent: HTMLElement, icon: string, title: string, pressed: () => void): HTMLElement {
	const el = parent.createEl("button", { cls: "clickable-icon", attr: { "aria-label": title } });
	setIcon(el, icon);
	el.addEventListener("click", pressed);
	return el;
}
