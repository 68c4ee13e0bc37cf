/** Adoption: a note gets an id, and becomes a fact. */

import { MarkdownView, type TFile } from "obsidian";
import { factIdOf } from "./app-vault";
import { withId } from "./frontmatter";
import type { Host } from "./host";

/**
 * Adopt a note, by its own id if it has one, such as a note of another vault. An id line that is added
 * is taken out again when the daemon does not take the note.
 *
 * Throws NotAdoptable, or what the bridge throws.
 */
export async function adoptNote(host: Host, file: TFile): Promise<void> {
	const { vault, workspace } = host.app;
	const own = factIdOf(host.app, file);
	for (const { view } of workspace.getLeavesOfType("markdown")) {
		if (view instanceof MarkdownView && view.file === file) await view.save();
	}
	if (own !== null) {
		await host.bridge.adopt(own);
		return;
	}
	const id = await host.bridge.freshId();
	let before = "";
	const after = await vault.process(file, (text) => {
		before = text;
		return withId(text, id);
	});
	try {
		await host.bridge.adopt(id);
	} catch (error) {
		await vault.process(file, (text) => (text === after ? before : text));
		throw error;
	}
}
