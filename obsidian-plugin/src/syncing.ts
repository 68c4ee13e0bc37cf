/** A run that the user starts, and may confirm when the guard stops it. */

import { Notice } from "obsidian";
import { BridgeRefusal } from "./client";
import type { Host } from "./host";
import { confirm } from "./modals";
import { passWords } from "./words";

/** Sync now, and show what was done. */
export async function syncNow(host: Host): Promise<void> {
	await host.attempt(async () => {
		try {
			done((await host.bridge.sync()).counts);
		} catch (error) {
			if (!(error instanceof BridgeRefusal) || error.run === null) throw error;
			const words = `${error.message} Nothing has been changed yet.`;
			if (!(await confirm(host.app, "The guard stopped this run", words, "Sync anyway"))) return;
			done((await host.bridge.sync({ confirm: error.run })).counts);
		}
	});
}

function done(counts: Record<string, number>): void {
	new Notice(`Synced: ${passWords(counts)}.`);
}
