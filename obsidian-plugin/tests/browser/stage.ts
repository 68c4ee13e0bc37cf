/** A browser with the app's stand-in and the built plugin in it, over the files of a real vault. */

import { build } from "esbuild";
import { existsSync, watch, type FSWatcher } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { request, type ClientRequest } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";
import { expect } from "vitest";
import type { HttpOptions } from "../standin/world";

const HERE = join(import.meta.dirname, "..", "..");
const BROWSERS = [process.env["CHROMIUM"] ?? "", "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The browser on this machine; null when there is none. */
export const browserPath: string | null = BROWSERS.find((path) => path !== "" && existsSync(path)) ?? null;

export const FLAGS = [
	"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
	"--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
];

export interface Look {
	theme: "light" | "dark";
	width: number;
	height: number;
	/** Whether the app is that of a phone: no Node, no daemon. */
	phone?: boolean;
}

/** Milliseconds within which a page shows something. A line that is lost is tried again after up to 30 seconds. */
export const PATIENCE = 60_000;

export class Stage {
	readonly page!: Page;
	/** How many requests the plugin has sent. */
	sent = 0;
	/** The requests under way; the stream of events is one as long as it is open. */
	private readonly requests = new Map<number, ClientRequest>();
	private browser!: Browser;
	private watcher!: FSWatcher;
	private profile = "";
	private readonly changed = new Set<string>();
	private readonly writes = new Set<string>();
	private timer: NodeJS.Timeout | undefined;

	private constructor(readonly vault: string) {}

	/** Open the app on a vault. The plugin's settings are as they come, but for what is given. */
	static async open(vault: string, look: Look, { address, token }: { address: string; token: string }): Promise<Stage> {
		const stage = new Stage(vault);
		await stage.launch(look);
		await stage.load(look, { address, token });
		return stage;
	}

	/** Open the app of a phone on a vault. */
	static async phone(vault: string, theme: Look["theme"]): Promise<Stage> {
		return Stage.open(vault, { theme, width: 375, height: 720, phone: true }, { address: "", token: "" });
	}

	async close(): Promise<void> {
		this.watcher.close();
		for (const each of this.requests.values()) each.destroy();
		await this.browser.close();
		await rm(this.profile, { recursive: true, force: true });
	}

	/** Run a command of the plugin; whether it was to be had. */
	run(id: string): Promise<boolean> {
		return this.page.evaluate((name) => window.running.app.run(name), id);
	}

	/** What the app's own command line prints. */
	cli(command: string, given: Record<string, string> = {}): Promise<string> {
		return this.page.evaluate(async ([name, flags]) => (await window.running.app.cli.get(name)?.(flags)) ?? `no command ${name}`, [command, given] as const);
	}

	/** Open a note in the main pane, once the app has seen its file. */
	async note(path: string): Promise<void> {
		await this.page.waitForFunction((at) => window.running.app.vault.getFileByPath(at) !== null, path);
		await this.page.evaluate(async (at) => {
			const { app } = window.running;
			const file = app.vault.getFileByPath(at);
			if (!file) throw new Error(`there is no ${at}`);
			const leaf = app.workspace.getLeaf(false);
			await leaf.openFile(file);
			(leaf.view as unknown as { look(): void }).look();
		}, path);
	}

	/** Turn the open note to its source. */
	edit(): Promise<void> {
		return this.page.evaluate(() => {
			const view = window.running.app.workspace.getMostRecentLeaf()?.view as unknown as { edit(): void };
			view.edit();
		});
	}

	/** Wait until the status bar says this. */
	async says(words: string): Promise<void> {
		await this.page.locator(".vaultsync-bar-text").getByText(words, { exact: true }).waitFor();
	}

	/** Wait until the app has seen a file. */
	async knows(path: string): Promise<void> {
		await this.page.waitForFunction((at) => window.running.app.vault.getFileByPath(at) !== null, path);
	}

	/** Wait until no question of the plugin is under way. */
	async idle(): Promise<void> {
		await expect.poll(() => this.requests.size).toBeLessThanOrEqual(1);
	}

	/** The files that the app itself wrote. */
	written(): string[] {
		return [...this.writes];
	}

	async theme(theme: Look["theme"]): Promise<void> {
		await this.page.evaluate((name) => {
			document.body.classList.remove("theme-light", "theme-dark");
			document.body.classList.add(`theme-${name}`);
		}, theme);
	}

	private async launch({ width, height }: Look): Promise<void> {
		this.profile = await mkdtemp(join(tmpdir(), "vaultsync-browser-"));
		const context = await chromium.launchPersistentContext(this.profile, {
			executablePath: browserPath ?? "",
			args: FLAGS,
			viewport: { width, height },
			deviceScaleFactor: 1,
			chromiumSandbox: false,
			timeout: 2 * PATIENCE,
			permissions: ["clipboard-read", "clipboard-write"],
		});
		this.browser = { close: () => context.close() } as Browser;
		context.setDefaultTimeout(PATIENCE);
		const page = await context.newPage();
		Object.assign(this, { page });
		page.on("pageerror", (error) => {
			throw error;
		});
	}

	private async load(look: Look, given: { address: string; token: string }): Promise<void> {
		const { page } = this;
		const files: Record<string, (...words: never[]) => unknown> = {
			list: () => this.list(),
			read: async (path: string) => {
				try {
					return [...(await readFile(join(this.vault, path)))];
				} catch {
					return null;
				}
			},
			write: async (path: string, text: string) => {
				this.writes.add(path);
				await mkdir(dirname(join(this.vault, path)), { recursive: true });
				await writeFile(join(this.vault, path), text);
			},
			mkdir: (path: string) => mkdir(join(this.vault, path), { recursive: true }).then(() => undefined),
			rename: (path: string, to: string) => rename(join(this.vault, path), join(this.vault, to)),
			remove: (path: string) => rm(join(this.vault, path)),
			send: (id: number, options: HttpOptions, body: string | null) => this.send(id, options, body),
			hangUp: (id: number) => {
				this.requests.get(id)?.destroy();
				this.requests.delete(id);
			},
		};
		for (const [name, work] of Object.entries(files)) await page.exposeFunction(`outside_${name}`, work);
		const [standin, source, styles, theme, manifest] = await Promise.all([
			bundle(),
			readFile(join(built(), "main.js"), "utf8"),
			readFile(join(built(), "styles.css"), "utf8"),
			readFile(join(HERE, "tests/standin/theme.css"), "utf8"),
			readFile(join(HERE, "manifest.json"), "utf8"),
		]);
		// Served under a safe origin, without which a page has no clipboard and no digests.
		await page.route("http://localhost/", (route) =>
			route.fulfill({ contentType: "text/html", body: `<!doctype html><html lang="en"><title>App</title><body class="theme-${look.theme}"></body></html>` }),
		);
		await page.goto("http://localhost/");
		await page.addStyleTag({ content: theme });
		await page.addStyleTag({ content: styles });
		await page.addScriptTag({ content: standin });
		await page.evaluate(
			async ([code, about, names, { address, token }, phone]) => {
				const outside = Object.fromEntries(names.map((name) => [name, (window as unknown as Record<string, unknown>)[`outside_${name}`]]));
				Object.assign(window, { outside });
				const { standin: maker } = window as unknown as { standin: { start: (...given: unknown[]) => Promise<Window["running"]> } };
				window.running = await maker.start(code, about, phone);
				if (phone) return;
				const plugin = window.running.plugin as unknown as { settings: { address: string }; token: { write(token: string): void }; saveSettings(anew: boolean): Promise<void> };
				plugin.settings.address = address;
				plugin.token.write(token);
				await plugin.saveSettings(true);
			},
			[source, JSON.parse(manifest) as { id: string }, Object.keys(files), given, look.phone === true] as const,
		);
		this.watcher = watch(this.vault, { recursive: true }, (_, name) => this.notice(name));
	}

	private async list(): Promise<string[]> {
		const found = await readdir(this.vault, { recursive: true, withFileTypes: true });
		return found
			.filter((entry) => entry.isFile())
			.map((entry) => relative(this.vault, join(entry.parentPath, entry.name)))
			.filter(visible);
	}

	private notice(name: string | null): void {
		if (name === null || !visible(name)) return;
		this.changed.add(name);
		clearTimeout(this.timer);
		this.timer = setTimeout(() => {
			const paths = [...this.changed];
			this.changed.clear();
			this.page.evaluate((all) => window.changed(all), paths).catch(() => undefined);
		}, 20);
	}

	private send(id: number, options: HttpOptions, body: string | null): void {
		this.sent++;
		const tell = (kind: "head" | "data" | "end" | "error", value: string): void => {
			this.page.evaluate(([to, what, words]) => window.answered(to, what, words), [id, kind, value] as const).catch(() => undefined);
		};
		const sent = request(options, (answer) => {
			tell("head", String(answer.statusCode));
			answer.setEncoding("utf8");
			answer.on("data", (part: string) => tell("data", part));
			answer.on("end", () => tell("end", ""));
		});
		sent.on("error", (error) => tell("error", error.message));
		sent.on("close", () => this.requests.delete(id));
		this.requests.set(id, sent);
		if (body === null) sent.end();
		else sent.end(body);
	}
}

/** Take down what a test put up, as far as it came. */
export async function strike(...parts: ({ close?: () => Promise<void>; remove?: () => Promise<void> } | undefined)[]): Promise<void> {
	for (const part of parts) {
		await part?.close?.();
		await part?.remove?.();
	}
}

declare global {
	interface Window {
		running: import("../standin/index").Running;
	}
}

function visible(path: string): boolean {
	return path.split("/").every((part) => !part.startsWith("."));
}

/** Where the built plugin is. */
function built(): string {
	return process.env["VAULTSYNC_PLUGIN"] ?? join(HERE, "..", "vaultsync", "obsidian");
}

async function bundle(): Promise<string> {
	const made = await build({
		entryPoints: [join(HERE, "tests/standin/index.ts")],
		bundle: true,
		write: false,
		format: "iife",
		target: "es2022",
		logLevel: "error",
	});
	return made.outputFiles[0]?.text ?? "";
}
