/** The settings tab: one table of settings, which new apps draw and search themselves. */

import { Notice, PluginSettingTab, Setting, type App, type SettingDefinition } from "obsidian";
import type VaultsyncPlugin from "./main";
import { DEFAULTS, type Settings } from "./settings";
import { loopback } from "./transport";
import { settled } from "./views/parts";

type Key = keyof Settings;

/** Milliseconds without a letter after which an address that is typed counts. */
const PAUSE = 1000;

export class VaultsyncSettingTab extends PluginSettingTab {
	override icon = "brain-circuit";
	/** An address that is being typed: what it is on the way there must not get the token. */
	private typed: string | null = null;
	private readonly paused = settled(PAUSE, () => void this.keepAddress());

	constructor(
		app: App,
		private readonly plugin: VaultsyncPlugin,
	) {
		super(app, plugin);
	}

	override getSettingDefinitions(): SettingDefinition<Key>[] {
		return [
			{
				name: "Address",
				desc: "The address of the daemon on this computer. The daemon prints it when it starts.",
				control: { type: "text", key: "address", placeholder: DEFAULTS.address, validate: addressFault },
			},
			{
				name: "Token",
				desc: this.tokenText(),
				render: (setting) => this.drawToken(setting),
			},
			{
				name: "Write open notes through the app",
				desc: "Let Obsidian write agents’ changes to your notes, so that it updates links. Text that you have not saved is never overwritten.",
				control: { type: "toggle", key: "writeThrough" },
			},
			{
				name: "Status bar",
				desc: "Show in the status bar whether notes and memory are in sync.",
				control: { type: "toggle", key: "statusBar" },
			},
			{
				name: "Recall while typing",
				desc: "Run a keyword search while you type. Enter always runs a semantic search as well.",
				control: { type: "toggle", key: "whileTyping" },
			},
			{
				name: "Related facts while writing",
				desc: "Look up facts for the paragraph that you are writing, while the view of related facts is open.",
				control: { type: "toggle", key: "whileWriting" },
			},
		];
	}

	override getControlValue(key: string): unknown {
		return key === "address" ? (this.typed ?? this.plugin.settings.address) : this.plugin.settings[key as Key];
	}

	override async setControlValue(key: string, value: unknown): Promise<void> {
		if (key === "address") {
			this.typed = String(value);
			this.paused.soon();
			return;
		}
		Object.assign(this.plugin.settings, { [key]: value }, {});
		await this.plugin.saveSettings(key === "writeThrough");
	}

	override hide(): void {
		this.paused.stop();
		void this.keepAddress();
		super.hide();
	}

	private async keepAddress(): Promise<void> {
		const { typed } = this;
		this.typed = null;
		if (typed === null || typed === this.plugin.settings.address || addressFault(typed) !== undefined) return;
		this.plugin.settings.address = typed;
		await this.plugin.saveSettings(true);
	}

	/** For apps older than 1.13, which do not draw the table themselves. */
	override display(): void {
		this.containerEl.empty();
		for (const definition of this.getSettingDefinitions()) {
			const setting = new Setting(this.containerEl).setName(definition.name);
			if (definition.desc !== undefined) setting.setDesc(definition.desc);
			if (definition.render) this.drawToken(setting);
			else if (definition.control) this.drawControl(setting, definition.control.key, definition.control.type);
		}
	}

	private drawControl(setting: Setting, key: Key, type: string): void {
		const value = this.getControlValue(key);
		const save = (changed: unknown): void => void this.setControlValue(key, changed);
		if (type === "toggle") setting.addToggle((toggle) => toggle.setValue(value === true).onChange(save));
		else setting.addText((text) => text.setPlaceholder(DEFAULTS.address).setValue(String(value)).onChange(save));
	}

	private drawToken(setting: Setting): void {
		let typed = "";
		const known = this.plugin.token.read() !== "";
		setting.addText((text) => {
			text.inputEl.type = "password";
			text.inputEl.setAttrs({ autocomplete: "off", spellcheck: "false", "aria-label": "Token" });
			text.setPlaceholder(known ? "Saved" : "Paste it here").onChange((value) => (typed = value.trim()));
		});
		setting.addButton((button) =>
			button.setButtonText("Connect").onClick(async () => {
				if (typed !== "") this.plugin.token.write(typed);
				await this.keepAddress();
				await this.plugin.saveSettings(true);
				new Notice(typed === "" && !known ? "Paste the token first." : "Looking for the daemon…");
			}),
		);
	}

	private tokenText(): string {
		const how = "To print it, run in a terminal: vaultsync bridge token.";
		if (this.plugin.token.secret) return `${how} It is stored in this app’s secret storage, not in the vault.`;
		return `${how} Warning: this version of the app has no secret storage, so the token is stored as plain text on this computer (not in the vault). Update the app to avoid this.`;
	}
}

/** What is wrong with an address; undefined when it is one of this computer. */
function addressFault(address: string): string | undefined {
	try {
		loopback(address);
		return undefined;
	} catch (error) {
		return error instanceof Error ? error.message : String(error);
	}
}
