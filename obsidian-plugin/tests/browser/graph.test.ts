/** The page that `vaultsync graph export` writes; no part of the plugin, but this is where a browser is. */

import { transform } from "esbuild";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Memory } from "./memory";
import { inBrowser } from "./ready";
import { browserPath, FLAGS, PATIENCE, strike } from "./stage";

/** Of the page: whether the nodes still move. */
declare const running: boolean;
declare let drawn: number;

inBrowser("the page of the graph", () => {
	let memory: Memory;
	let browser: Browser;
	let page: Page;
	const complaints: string[] = [];

	beforeAll(async () => {
		memory = await Memory.make();
		const file = join(memory.vault, "..", "graph.html");
		await memory.cli("graph", "export", file);
		browser = await chromium.launch({ executablePath: browserPath ?? "", args: FLAGS, chromiumSandbox: false, timeout: 2 * PATIENCE });
		page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: "light" });
		page.setDefaultTimeout(PATIENCE);
		page.on("pageerror", (error) => complaints.push(error.message));
		// A policy that refuses the script or the style sheet is told here too.
		page.on("console", (message) => complaints.push(message.text()));
		await page.goto(`file://${file}`);
	});

	afterAll(() => strike(browser, memory));

	test("its style sheet is CSS", async () => {
		const { warnings } = await transform(await readFile(join(import.meta.dirname, "../../../vaultsync/graph/static/page.css"), "utf8"), { loader: "css" });
		expect(warnings).toEqual([]);
	});

	test("counts what it draws, and draws it", async () => {
		expect(await page.locator("#summary").innerText()).toMatch(/^\d+ nodes, \d+ links\.$/);
		const drawn = (): Promise<boolean> =>
			page.evaluate(() => {
				const canvas = document.querySelector("canvas");
				return canvas?.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data.some((part) => part > 0) ?? false;
			});
		await expect.poll(drawn).toBe(true);
	});

	test("finds a node by its title, and shows what is joined to it", async () => {
		await page.getByRole("combobox", { name: "Search" }).fill("bente");
		await page.getByRole("option").first().waitFor();
		await page.keyboard.press("Enter");
		const panel = page.locator("#panel");
		await panel.getByRole("heading", { level: 2 }).waitFor();
		const first = await panel.getByRole("heading", { level: 2 }).innerText();
		await panel.locator("li button").first().click();
		expect(await panel.getByRole("heading", { level: 2 }).innerText()).not.toBe(first);
		await panel.getByRole("button", { name: "Close" }).click();
		await panel.waitFor({ state: "hidden" });
	});

	test("says what is selected and found, not every link of it", async () => {
		await page.locator("canvas").press("n");
		const told = page.getByRole("status");
		await expect.poll(() => told.innerText()).toMatch(/^.+, \w+, \d+ links?$/);
		await page.getByRole("combobox", { name: "Search" }).fill("e");
		await expect.poll(() => told.innerText()).toMatch(/^\d+ results$/);
		await page.locator("#results").getByText(/^… and \d+ more$/).waitFor();
	});

	test("lists what it found above the legend", async () => {
		const results = await page.locator("#results").boundingBox();
		const legend = await page.getByRole("navigation", { name: "Types" }).boundingBox();
		expect((results?.y ?? 0) + (results?.height ?? 0)).toBeLessThan(legend?.y ?? 0);
		await page.keyboard.press("Escape");
	});

	test("is drawn at rest for those who want no motion", async () => {
		const calm = await browser.newPage({ reducedMotion: "reduce" });
		calm.setDefaultTimeout(PATIENCE);
		await calm.addInitScript(() => {
			Object.assign(window, { drawn: 0 });
			const canvas = CanvasRenderingContext2D.prototype as unknown as { clearRect: (...box: number[]) => void };
			const clear = canvas.clearRect;
			canvas.clearRect = function (...box) {
				drawn++;
				clear.apply(this, box);
			};
		});
		await calm.goto(page.url());
		await calm.waitForFunction(() => !running);
		await calm.waitForTimeout(100);
		expect(await calm.evaluate(() => drawn)).toBeLessThan(5);
		await calm.close();
	});

	test("hides a type, and turns dark", async () => {
		const type = page.getByRole("navigation", { name: "Types" }).getByRole("button").first();
		await type.click();
		expect(await type.getAttribute("aria-pressed")).toBe("false");
		const ground = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
		expect(await ground()).toBe("rgb(251, 250, 248)");
		await page.getByRole("button", { name: "Dark" }).click();
		expect(await ground()).toBe("rgb(22, 24, 29)");
	});

	test("has no error, and asks for nothing that its policy forbids", () => {
		expect(complaints).toEqual([]);
	});
});
