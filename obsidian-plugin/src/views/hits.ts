/** A hit in a list: what it is, and why it is there. */

import { MarkdownView, Notice, type App } from "obsidian";
import type { Hit } from "../answers";
import { fileAt } from "../app-vault";
import type { Host } from "../host";
import { chip, icon, iconButton, link } from "./parts";

/** Draw a hit. Returns its foot, where further actions go. */
export function drawHit(parent: HTMLElement, host: Host, hit: Hit): { foot: HTMLElement; actions: HTMLElement } {
	const el = parent.createEl("li", { cls: "vaultsync-hit", attr: { "data-id": hit.id, "data-key": hit.id } });
	const head = el.createDiv({ cls: "vaultsync-hit-head" });
	link(head, hit.title === "" ? "Untitled" : hit.title, () => open(host, hit), "vaultsync-hit-title").setAttr("data-key", "open");
	chip(head, hit.type);
	if (hit.snippet !== "") el.createDiv({ cls: "vaultsync-snippet", text: hit.snippet });
	const why = el.createDiv({ cls: "vaultsync-why" });
	icon(why, hit.stage === "index" ? "list-tree" : "sparkles");
	why.createSpan({ text: hit.why });
	const foot = el.createDiv({ cls: "vaultsync-hit-foot" });
	foot.createSpan({ cls: "vaultsync-muted vaultsync-path", text: hit.path ?? "no note yet" });
	const actions = foot.createDiv({ cls: "vaultsync-hit-actions" });
	iconButton(actions, "link", "Insert a link into the note", () => insert(host.app, hit)).setAttr("data-key", "link");
	return { foot, actions };
}

async function open(host: Host, hit: Hit): Promise<void> {
	if (hit.path === null) new Notice("This fact has no note yet.");
	else await host.openNote(hit.path);
}

function insert(app: App, hit: Hit): void {
	const view = app.workspace.getMostRecentLeaf()?.view;
	const file = hit.path === null ? null : fileAt(app, hit.path);
	// In reading mode nobody sees where the cursor is: it may be before the properties.
	if (!(view instanceof MarkdownView) || view.getMode() === "preview" || !file) {
		new Notice("Open the note to insert the link into, and edit it.");
		return;
	}
	const alias = hit.title === file.basename ? "" : hit.title;
	view.editor.replaceSelection(app.fileManager.generateMarkdownLink(file, view.file?.path ?? "", "", alias));
	view.editor.focus();
}
