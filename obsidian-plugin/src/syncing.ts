/** A pass that a person asks for; what the guard stops, they may allow. */

import { Notice } from "obsidian";
import { BridgeRefusal } from "./client";
import type { Host } from "./host";
import { confirm } from "./modals";
import { passWords } from "./words";

/** Sync now, and say what was done. */
export async function syncNow(host: Host): Promise<void> {
	await host.attempt(async () => {
		try {
			done((await host.bridge.sync()).counts);
		} catch (error) {
			if (!(error instanceof BridgeRefusal) || error.run === null) throw error;
			const words = `${error.message} Nothing was done yet.`;
			if (!(await confirm(host.app, "The guard stopped this pass", words, "Do it after all"))) return;
			done((await host.bridge.sync({ confirm: error.run })).counts);
		}
	});
}

function done(counts: Record<string, number>): void {
	new Notice(`Synced: ${passWords(counts)}.`);
}
