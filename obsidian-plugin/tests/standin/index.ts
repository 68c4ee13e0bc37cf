/**
 * A stand-in of the module `obsidian`, over real files, for a browser without the app.
 *
 * It keeps what the typings and the developer docs say of the parts that the plugin uses: what is atomic,
 * what is told, when an editor saves. It is no copy of the app, and looks like it only roughly.
 */

import { App, Plugin } from "./app";
import { extendDocument } from "./dom";
import { setIcon } from "./icons";
import { MarkdownRenderer } from "./markdown";
import { FuzzySuggestModal, Modal, Notice, PluginSettingTab, SearchComponent, Setting } from "./ui";
import { TAbstractFile, TFile, TFolder } from "./vault";
import { Component, ItemView, MarkdownView, WorkspaceLeaf } from "./workspace";
import { http, listen } from "./world";

/** Calls `work` once, when no further call came for a while. */
function debounce(work: () => void, milliseconds: number): () => void {
	let timer = 0;
	return () => {
		window.clearTimeout(timer);
		timer = window.setTimeout(work, milliseconds);
	};
}

const Platform = { isDesktop: true, isDesktopApp: true, isMobile: false, isPhone: false };

const obsidian = {
	Component, FuzzySuggestModal, ItemView, MarkdownRenderer, MarkdownView, Modal, Notice, Plugin, PluginSettingTab, SearchComponent, Setting,
	TAbstractFile, TFile, TFolder, WorkspaceLeaf, setIcon,
	Platform, debounce,
	normalizePath: (path: string): string =>
		path.replace(/[\\/]+/g, "/").replace(/^\/+|\/+$/g, "").replace(/[\u00A0\u202F]/g, " ").normalize("NFC"),
	requireApiVersion: (): boolean => true,
};

export interface Running {
	app: App;
	plugin: Plugin;
}

/** Start the app with the plugin whose built `main.js` this is, as the app evaluates it. */
export async function start(source: string, manifest: { id: string; name: string; version: string }, phone = false): Promise<Running> {
	extendDocument();
	listen();
	const app = new App(document.body);
	await app.load();
	window.changed = (paths) => void app.vault.look(paths);
	Object.assign(Platform, { isDesktop: !phone, isDesktopApp: !phone, isMobile: phone, isPhone: phone });
	for (const name of ["is-mobile", "is-phone"]) document.body.classList.toggle(name, phone);
	// The mobile apps have no modules of Node.
	const modules: Record<string, unknown> = phone ? { obsidian } : { obsidian, http };
	const module = { exports: {} as { default: new (app: App, manifest: unknown) => Plugin } };
	const required = (name: string): unknown => {
		if (!(name in modules)) throw new Error(`the app has no module ${name}`);
		return modules[name];
	};
	// eslint-disable-next-line @typescript-eslint/no-implied-eval -- this is how the app loads a plugin
	const evaluate = new Function("require", "module", "exports", source) as (...given: unknown[]) => void;
	evaluate(required, module, module.exports);
	const plugin = new module.exports.default(app, manifest);
	await plugin.onload();
	return { app, plugin };
}

Object.assign(window, { standin: { start } });
