/** Settings, and where the token is kept. */

import { requireApiVersion, type App } from "obsidian";

export interface Settings {
	address: string;
	/** Whether the daemon may write open notes through the app. */
	writeThrough: boolean;
	/** Whether the status bar shows the state. */
	statusBar: boolean;
	/** Whether recall searches the index while the user types. */
	whileTyping: boolean;
	/** Whether related facts are looked up while the user writes, where their view is open. */
	whileWriting: boolean;
	/** The budget of a context pack, in tokens: as it was chosen last. */
	budget: number;
}

export const DEFAULTS: Readonly<Settings> = {
	address: "http://127.0.0.1:27125",
	writeThrough: true,
	statusBar: true,
	whileTyping: true,
	whileWriting: true,
	budget: 4000,
};

/** The saved settings, with the default for each that is missing or invalid. */
export function settingsFrom(saved: unknown): Settings {
	const found = typeof saved === "object" && saved !== null ? (saved as Record<string, unknown>) : {};
	const taken: Record<string, unknown> = { ...DEFAULTS };
	for (const [key, value] of Object.entries(DEFAULTS)) {
		if (typeof found[key] === typeof value) taken[key] = found[key];
	}
	return taken as unknown as Settings;
}

/**
 * The token, outside the vault: `data.json` lies in the vault, and travels with it.
 *
 * In the app's secret storage where there is one (1.11.4), else in the app's local storage.
 */
export class TokenSafe {
	/** Whether the token is kept as a secret, not as plain text. */
	readonly secret = requireApiVersion("1.11.4");

	constructor(
		private readonly app: App,
		private vaultId: string | null,
	) {}

	/** Keep the token by the id of the vault, which may be new or another one since the plugin was loaded: the next start looks there. */
	identify(vaultId: string | null): void {
		if (vaultId === null || vaultId === this.vaultId) return;
		const token = this.read();
		this.vaultId = vaultId;
		if (token !== "" && this.read() === "") this.write(token);
	}

	private get name(): string {
		return this.vaultId === null ? "vaultsync" : `vaultsync-${this.vaultId}`;
	}

	read(): string {
		if (requireApiVersion("1.11.4")) return this.app.secretStorage.getSecret(this.name) ?? "";
		const found: unknown = this.app.loadLocalStorage(this.name);
		return typeof found === "string" ? found : "";
	}

	write(token: string): void {
		if (requireApiVersion("1.11.4")) this.app.secretStorage.setSecret(this.name, token);
		else this.app.saveLocalStorage(this.name, token === "" ? null : token);
	}
}
