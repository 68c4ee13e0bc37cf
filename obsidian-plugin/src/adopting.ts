/** Adoption: a note gets an id, and becomes a fact. */

import { MarkdownView, type TFile } from "obsidian";
import { withId } from "./frontmatter";
import type { Host } from "./host";

/**
 * Adopt a note. The id line is taken out again when the daemon does not take the note.
 *
 * Throws NotAdoptable, or what the bridge throws.
 */
export async function adoptNote(host: Host, file: TFile): Promise<void> {
	const { vault, workspace } = host.app;
	for (const { view } of workspace.getLeavesOfType("markdown")) {
		if (view instanceof MarkdownView && view.file === file) await view.save();
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
