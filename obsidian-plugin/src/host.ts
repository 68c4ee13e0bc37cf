/** What views and commands work with: the bridge, the connection, and ways to show things. */

import type { App } from "obsidian";
import type { Bridge } from "./client";
import type { Line } from "./connection";
import type { Picks } from "./picks";
import type { Settings } from "./settings";

export const VIEWS = {
	status: "vaultsync-status",
	conflicts: "vaultsync-conflicts",
	proposals: "vaultsync-proposals",
	recall: "vaultsync-recall",
	context: "vaultsync-context",
	related: "vaultsync-related",
	note: "vaultsync-note",
	index: "vaultsync-index",
} as const;
export type ViewName = keyof typeof VIEWS;

/** What happened: the connection or the status changed, or a run changed something. */
export type Told = "line" | "pass";

export interface NoteOpener {
	openNote(path: string, line?: number): Promise<void>;
}

export interface Host extends NoteOpener {
	readonly app: App;
	readonly bridge: Bridge;
	readonly picks: Picks;
	/** Texts being merged by hand, by conflict and field: they outlive their view. */
	readonly drafts: Map<string, string>;
	readonly settings: Settings;
	line(): Line;
	/** Listen. Returns a function that stops it. */
	listen(told: (what: Told) => void): () => void;
	/** Look for the daemon now. */
	retry(): void;
	show(view: ViewName): Promise<void>;
	openSettings(): void;
	/** Save the settings and apply them. */
	saveSettings(reconnect: boolean): Promise<void>;
	/** Do something, and show a notice if it fails. Returns whether it succeeded. */
	attempt(work: () => Promise<void>): Promise<boolean>;
}
