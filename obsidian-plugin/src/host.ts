/** What views and commands are given: the bridge, the line to it, and ways to show things. */

import type { App } from "obsidian";
import type { Bridge } from "./client";
import type { Line } from "./connection";
import type { Picks } from "./picks";
import type { Settings } from "./settings";

export const VIEWS = {
	status: "vaultsync-status",
	conflicts: "vaultsync-conflicts",
	recall: "vaultsync-recall",
	context: "vaultsync-context",
	note: "vaultsync-note",
	index: "vaultsync-index",
} as const;
export type ViewName = keyof typeof VIEWS;

/** Something happened: the line stands differently, or the daemon said so. */
export type Told = "line" | "state" | "pass" | "conflict";

export interface Host {
	readonly app: App;
	readonly bridge: Bridge;
	readonly picks: Picks;
	readonly settings: Settings;
	line(): Line;
	/** Be told; the answer ends that. */
	listen(told: (what: Told) => void): () => void;
	/** Look for the daemon now. */
	retry(): void;
	show(view: ViewName): Promise<void>;
	openSettings(): void;
	openNote(path: string, line?: number): Promise<void>;
	/** Do something, and say in a notice when it fails; whether it did not. */
	attempt(work: () => Promise<void>): Promise<boolean>;
}
