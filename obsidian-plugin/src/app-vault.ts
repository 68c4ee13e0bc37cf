/** The vault as Obsidian lets a plugin read and change it. */

import { MarkdownView, normalizePath, type App, type TFile } from "obsidian";
import { factId } from "./frontmatter";
import type { AppVault } from "./writes";

const MARKER = ".meta/config.toml";

export class ObsidianVault implements AppVault {
	constructor(private readonly app: App) {}

	async read(path: string): Promise<ArrayBuffer | null> {
		const file = fileAt(this.app, path);
		return file && this.app.vault.readBinary(file);
	}

	exists(path: string): boolean {
		return this.app.vault.getAbstractFileByPath(normalizePath(path)) !== null;
	}

	editors(path: string): string[] {
		const file = fileAt(this.app, path);
		const views = this.app.workspace.getLeavesOfType("markdown").map((leaf) => leaf.view);
		return views
			.filter((view) => view instanceof MarkdownView)
			.filter((view) => view.file === file)
			.map((view) => view.getViewData());
	}

	async process(path: string, change: (found: string) => string): Promise<void> {
		await this.app.vault.process(this.file(path), change);
	}

	/** By the file manager, so that Obsidian rewrites the links that lead here. Throws for a name that the app would change. */
	async rename(path: string, to: string): Promise<void> {
		if (normalizePath(to) !== to) throw new Error(`${to} is no path of the app`);
		await this.folder(to);
		await this.app.fileManager.renameFile(this.file(path), to);
	}

	/** The id in the vault's marker; null when vaultsync never was here. */
	async vaultId(): Promise<string | null> {
		const { adapter } = this.app.vault;
		try {
			return vaultIdIn(await adapter.read(normalizePath(MARKER)));
		} catch {
			return null;
		}
	}

	private file(path: string): TFile {
		const file = fileAt(this.app, path);
		if (!file) throw new Error(`${path} no longer exists`);
		return file;
	}

	private async folder(path: string): Promise<void> {
		const parts = path.split("/").slice(0, -1);
		for (let depth = 1; depth <= parts.length; depth++) {
			const folder = parts.slice(0, depth).join("/");
			if (!this.exists(folder)) await this.app.vault.createFolder(folder);
		}
	}
}

/**
 * The file at a path of the daemon; null when there is none.
 *
 * The app's paths have an ordinary space where the name of a file has a no-break space.
 */
export function fileAt(app: App, path: string): TFile | null {
	return app.vault.getFileByPath(normalizePath(path));
}

/** The id of the fact that a note is; null when it is none. */
export function factIdOf(app: App, file: TFile): string | null {
	return factId(app.metadataCache.getFileCache(file)?.frontmatter?.["id"]);
}

/** The vault's id in the text of its marker. */
export function vaultIdIn(marker: string): string | null {
	return /^vault_id\s*=\s*["']([\w-]+)["']/m.exec(marker)?.[1] ?? null;
}

/** The sha256 of bytes, as the daemon writes it. */
export async function sha256(bytes: ArrayBuffer): Promise<string> {
	const digest = await crypto.subtle.digest("SHA-256", bytes);
	return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
