/** The app as a whole, and plugins in it. */

import { FileManager, MetadataCache, Vault } from "./vault";
import { Component, Workspace, type View, type WorkspaceLeaf } from "./workspace";
import { ribbonButton, SettingsModal, type PluginSettingTab } from "./ui";

export interface Command {
	id: string;
	name: string;
	callback?: () => unknown;
	checkCallback?: (checking: boolean) => boolean | undefined;
	editorCallback?: (editor: unknown) => unknown;
}

export class App {
	readonly vault = new Vault();
	readonly metadataCache = new MetadataCache(this.vault);
	readonly fileManager = new FileManager(this.vault);
	readonly workspace: Workspace;
	readonly commands = new Map<string, Command>();
	readonly setting: SettingsModal;
	/** What the app's own command line runs, by its name. */
	readonly cli = new Map<string, (given: Record<string, string>) => string | Promise<string>>();
	private readonly secrets = new Map<string, string>();
	readonly secretStorage = {
		getSecret: (id: string): string | null => this.secrets.get(id) ?? null,
		setSecret: (id: string, secret: string): void => void this.secrets.set(id, secret),
		listSecrets: (): string[] => [...this.secrets.keys()],
	};
	readonly ribbonEl: HTMLElement;
	readonly statusBarEl: HTMLElement;

	constructor(body: HTMLElement) {
		const container = body.createDiv({ cls: "app-container" });
		const row = container.createDiv({ cls: "horizontal-main-container" });
		this.ribbonEl = row.createDiv({ cls: "workspace-ribbon" });
		const files = row.createDiv({ cls: "workspace-split mod-left-split" });
		const main = row.createDiv({ cls: "workspace-split mod-root" });
		const right = row.createDiv({ cls: "workspace-split mod-right-split" });
		this.statusBarEl = body.createDiv({ cls: "status-bar" });
		this.workspace = new Workspace(this, { main, right });
		this.setting = new SettingsModal(this);
		files.createDiv({ cls: "nav-header", text: "Tidebell" });
		const list = files.createDiv({ cls: "nav-files" });
		const draw = (): void => this.drawFiles(list);
		for (const name of ["create", "delete", "rename"]) this.vault.on(name, draw);
	}

	async load(): Promise<void> {
		await this.vault.load();
		for (const file of this.vault.getMarkdownFiles()) await this.metadataCache.parse(file);
		this.drawFiles(document.querySelector<HTMLElement>(".nav-files") ?? document.body);
	}

	loadLocalStorage(): null {
		return null;
	}

	saveLocalStorage(): void {
		// There is a secret storage here.
	}

	/** Run a command by its id, as the palette does; whether it is to be had now. */
	run(id: string): boolean {
		const command = this.commands.get(id);
		if (!command) throw new Error(`there is no command ${id}`);
		const view = this.workspace.getMostRecentLeaf()?.view as { editor?: unknown } | undefined;
		if (command.callback) command.callback();
		else if (command.editorCallback) {
			if (view?.editor === undefined) return false;
			command.editorCallback(view.editor);
		} else if (command.checkCallback?.(true) === true) command.checkCallback(false);
		else return false;
		return true;
	}

	private drawFiles(el: HTMLElement): void {
		el.empty();
		let folder = "";
		for (const file of this.vault.getMarkdownFiles().sort((a, b) => a.path.localeCompare(b.path))) {
			const within = file.path.slice(0, Math.max(0, file.path.lastIndexOf("/")));
			if (within !== folder) el.createDiv({ cls: "nav-folder-title", text: within });
			folder = within;
			const row = el.createDiv({ cls: "nav-file-title", text: file.basename });
			row.addEventListener("click", () => void this.workspace.getLeaf(false).openFile(file));
		}
	}
}

export abstract class Plugin extends Component {
	settings: unknown;
	private saved: unknown = null;

	constructor(
		readonly app: App,
		readonly manifest: { id: string; name: string; version: string },
	) {
		super();
	}

	async loadData(): Promise<unknown> {
		await Promise.resolve();
		return this.saved;
	}

	async saveData(data: unknown): Promise<void> {
		await Promise.resolve();
		this.saved = structuredClone(data);
	}

	addStatusBarItem(): HTMLElement {
		return this.app.statusBarEl.createDiv({ cls: "status-bar-item" });
	}

	addRibbonIcon(icon: string, title: string, pressed: () => void): HTMLElement {
		return ribbonButton(this.app.ribbonEl, icon, title, pressed);
	}

	addCommand(command: Command): Command {
		this.app.commands.set(command.id, command);
		return command;
	}

	registerCliHandler(command: string, _description: string, _flags: unknown, handler: (given: Record<string, string>) => string | Promise<string>): void {
		if (this.app.cli.has(command)) throw new Error(`${command} is registered already`);
		this.app.cli.set(command, handler);
	}

	addSettingTab(tab: PluginSettingTab): void {
		this.app.setting.addTab(this.manifest.id, tab);
	}

	registerView(type: string, make: (leaf: WorkspaceLeaf) => View): void {
		this.app.workspace.makers.set(type, make);
	}
}
