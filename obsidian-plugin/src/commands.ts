/** Commands of the palette. */

import { MarkdownView, Notice, type App, type Editor, type Plugin } from "obsidian";
import { adoptNote } from "./adopting";
import type { Fact } from "./answers";
import { factIdOf, fileAt } from "./app-vault";
import { BridgeRefusal } from "./client";
import type { Host, ViewName } from "./host";
import { choose, confirm, remembering, write } from "./modals";
import { syncNow } from "./syncing";
import { byRun } from "./versions";
import { compare } from "./views/compare";
import { scopesOf, TIERS, TYPES } from "./words";

const PAGES: readonly (readonly [ViewName, string])[] = [
	["status", "Show status"],
	["conflicts", "Resolve conflicts"],
	["proposals", "Answer proposals"],
	["recall", "Recall"],
	["context", "Build context pack"],
	["related", "Show related facts while writing"],
	["note", "Show what the memory knows about this note"],
	["index", "Open index"],
];

const READING: typeof PAGES = [
	["conflicts", "Read conflicts"],
	["proposals", "Read proposals"],
];

/** The commands of a device without a daemon. */
export function addReadingCommands(plugin: Plugin, host: Pick<Host, "show">): void {
	for (const [view, name] of READING) {
		plugin.addCommand({ id: `show-${view}`, name, callback: () => void host.show(view) });
	}
}

export function addCommands(plugin: Plugin, host: Host): void {
	for (const [view, name] of PAGES) {
		plugin.addCommand({ id: `show-${view}`, name, callback: () => void host.show(view) });
	}
	plugin.addCommand({
		id: "sync-now",
		name: "Sync now",
		callback: () => void syncNow(host),
	});
	plugin.addCommand({
		id: "remember-selection",
		name: "Remember selection as…",
		editorCallback: (editor) => void remember(host, editor),
	});
	plugin.addCommand({
		id: "adopt-note",
		name: "Adopt this note",
		checkCallback: (checking) => {
			const file = host.app.workspace.getActiveFile();
			if (file?.extension !== "md" || factIdOf(host.app, file) !== null) return false;
			if (!checking) {
				void host.attempt(async () => {
					await adoptNote(host, file);
					new Notice(`${file.basename} is now part of the memory.`);
				});
			}
			return true;
		},
	});
	plugin.addCommand({
		id: "open-coloured-graph",
		name: "Open graph with colours by type",
		callback: () => void host.attempt(() => graph(host)),
	});
	onFact(plugin, host, "compare-versions", "Compare versions of this note", compareVersions);
	onFact(plugin, host, "change-type", "Change type of this note", changeType);
	onFact(plugin, host, "change-priority", "Change priority of this note", changePriority);
	onFact(plugin, host, "change-tier", "Change tier of this note", changeTier);
	onFact(plugin, host, "supersede", "Supersede this note", supersede);
	onFact(plugin, host, "forget", "Forget this note", forget);
}

/** A command that is there when the open note is a fact. */
function onFact(plugin: Plugin, host: Host, id: string, name: string, work: (host: Host, factId: string) => Promise<void>): void {
	plugin.addCommand({
		id,
		name,
		checkCallback: (checking) => {
			const file = host.app.workspace.getActiveFile();
			const fact = file && factIdOf(host.app, file);
			if (fact === null) return false;
			if (!checking) void host.attempt(() => work(host, fact));
			return true;
		},
	});
}

async function remember(host: Host, editor: Editor): Promise<void> {
	const selected = editor.getSelection().trim();
	const file = host.app.workspace.getActiveFile();
	const scopes = scopesOf(host.app.vault.getRoot().children.map((child) => child.name));
	const scope = scopes.find((each) => file?.path.startsWith(`${each}/`)) ?? "";
	const first = { text: selected, type: "note", title: "", scope, priority: 2 };
	await remembering(host.app, first, scopes, ({ text, type, priority, title, scope: within }) =>
		host.attempt(async () => {
			const fact = await host.bridge.remember({ text, type, priority, ...(title === "" ? {} : { title }), ...(within === "" ? {} : { scope: within }) });
			new Notice(`Remembered: ${fact.title}`);
		}),
	);
}

async function changeType(host: Host, id: string): Promise<void> {
	const type = await choose<string>(host.app, "Type of this note", TYPES.map((each) => ({ words: each, value: each })));
	if (type !== null) await set(host, id, { type });
}

async function changePriority(host: Host, id: string): Promise<void> {
	const options = [0, 1, 2, 3, 4].map((value) => ({ words: `Priority ${value}${value === 0 ? ", the highest" : ""}`, value }));
	const priority = await choose(host.app, "Priority of this note", options);
	if (priority !== null) await set(host, id, { priority });
}

async function changeTier(host: Host, id: string): Promise<void> {
	const options = Object.values(TIERS).map(({ label, priority }) => ({ words: label, value: priority }));
	const priority = await choose(host.app, "Tier of this note", options);
	if (priority !== null) await set(host, id, { priority });
}

async function compareVersions(host: Host, id: string): Promise<void> {
	const [fact, history] = await Promise.all([host.bridge.fact(id), host.bridge.history(id)]);
	const now = byRun(history).length;
	if (now === 0) new Notice("Nothing has changed since this note became a fact.");
	else compare(host.app, fact.title, history, now - 1, now);
}

async function set(host: Host, id: string, fields: Record<string, unknown>): Promise<void> {
	await saveOpen(host.app);
	const { revision } = await host.bridge.fact(id);
	await host.bridge.update(id, { set: fields, expect: revision });
	new Notice("Changed.");
}

async function supersede(host: Host, id: string): Promise<void> {
	await syncOpen(host);
	const { content } = await host.bridge.fact(id);
	const words = "A new note replaces it. This one is kept, and the two are linked.";
	const made: Fact[] = [];
	await write(host.app, "Supersede this note", words, content, "Supersede", (text) =>
		host.attempt(async () => void made.push(await host.bridge.supersede(id, text))),
	);
	for (const each of made) await openWhenThere(host, each);
}

/** Open the note of a fact that was just made: the daemon writes it a moment later. */
async function openWhenThere(host: Host, made: Fact): Promise<void> {
	let { path } = made;
	for (let tries = 0; tries < 20; tries++) {
		path ??= (await host.bridge.fact(made.id)).path;
		if (path !== null && fileAt(host.app, path)) break;
		await sleep(150);
	}
	if (path !== null) await host.openNote(path);
}

async function forget(host: Host, id: string): Promise<void> {
	if (!(await confirm(host.app, "Forget this note?", "The note is deleted, and agents no longer recall it. You can restore it later.", "Forget"))) return;
	await syncOpen(host);
	await host.bridge.forget(id);
	new Notice("Forgotten. Restore it with: vaultsync restore", 8000);
}

async function graph(host: Host): Promise<void> {
	await host.bridge.colours();
	await host.app.workspace.getLeaf("tab").setViewState({ type: "graph", active: true });
	new Notice("Colours by type are set. Reload Obsidian if the graph does not show them.");
}

/** Save the open note, and sync: else what was typed last is an edit of a note that is deleted or replaced, and the edit wins. */
async function syncOpen(host: Host): Promise<void> {
	await saveOpen(host.app);
	try {
		await host.bridge.sync();
	} catch (error) {
		// Another note may stop a sync; this one is then changed as it is in the memory.
		if (!(error instanceof BridgeRefusal)) throw error;
	}
}

/** Save the open note, so that the daemon sees what was typed. */
async function saveOpen(app: App): Promise<void> {
	const view = app.workspace.getActiveViewOfType(MarkdownView);
	if (view) await view.save();
}
