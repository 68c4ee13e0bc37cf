/** A run that the user starts, and may confirm when the guard stops it. */

import { Notice } from "obsidian";
import { BridgeRefusal } from "./client";
import type { Host } from "./host";
import { confirm } from "./modals";
import { passWords } from "./words";

/** Milliseconds after which a notice says that it is under way. */
const SLOW = 800;

/** Sync now, and show what was done. */
export async function syncNow(host: Host): Promise<void> {
	await host.attempt(async () => {
		try {
			done((await telling("Syncing…", host.bridge.sync())).counts);
		} catch (error) {
			if (!(error instanceof BridgeRefusal) || error.run === null) throw error;
			const words = `${error.message} Nothing has been changed yet.`;
			if (!(await confirm(host.app, "The guard stopped this run", words, "Sync anyway"))) return;
			done((await telling("Syncing…", host.bridge.sync({ confirm: error.run }))).counts);
		}
	});
}

/** What comes of some work, with a notice while it takes long. */
async function telling<T>(words: string, work: Promise<T>): Promise<T> {
	let notice: Notice | null = null;
	const slow = window.setTimeout(() => (notice = new Notice(words, 0)), SLOW);
	try {
		return await work;
	} finally {
		window.clearTimeout(slow);
		(notice as Notice | null)?.hide();
	}
}

function done(counts: Record<string, number>): void {
	new Notice(`Synced: ${passWords(counts)}.`);
}
