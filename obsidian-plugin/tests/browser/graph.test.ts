/** The page that `vaultsync graph export` writes; no part of the plugin, but this is where a browser is. */

import { transform } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Memory } from "./memory";
import { inBrowser } from "./ready";
import { browserPath, FLAGS, PATIENCE, strike } from "./stage";

/** Of the page: whether the nodes still move. */
declare const running: boolean;
/** Of the page: where the nodes are. */
declare const x: Float64Array;
declare const y: Float64Array;
declare let drawn: number;
/** Of the page: the node under the pointer. */
declare const hover: number;
/** Of the page: whether the nodes have places. */
declare const layout: { placed: boolean };
/** Of the page: what it draws, where a node is in the window, and whether it is about to draw again. */
declare const graph: { types: [string, string][]; nodes: [string, number][] };
declare function place(i: number): [number, number, number];
declare const wanted: boolean;
declare const view: { k: number };
/** Of the page: which nodes stay where they were dragged to. */
declare const pinned: Uint8Array;
declare function move(dx: number, dy: number): void;
/** Of a test: the most circles that were filled at once, and whether any were before they had places. */
declare let most: number;
declare let early: boolean;

/** Has the page count how often it draws the whole graph. */
function count(page: Page): Promise<unknown> {
	return page.addInitScript(() => {
		Object.assign(window, { drawn: 0 });
		const canvas = CanvasRenderingContext2D.prototype as unknown as { clearRect: (...box: number[]) => void };
		const clear = canvas.clearRect;
		canvas.clearRect = function (...box) {
			drawn++;
			clear.apply(this, box);
		};
	});
}

/** A graph of groups that have few links between them, and of some notes without links. */
function large(size: number): unknown {
	const nodes = Array.from({ length: size }, (_, i) => [`Note ${i}`, 0, `Notes/${i}.md`, i % 3 ? "public" : "private", `202${i % 4}-01-01`, "active"]);
	const links = nodes.flatMap((_, i) => (i % 10 === 0 ? [] : [[i, i - (i % 100) + 1 + (i % 7), 0, "", 1], ...(i % 50 ? [] : [[i, (i * 7) % size, 0, "", 1]])]));
	return { types: [["note", "#8b8fa3"]], kinds: ["mentions"], nodes, links: links.filter((link) => link[0] !== link[1]) };
}

/** The page with another graph. */
function withData(html: string, data: unknown): string {
	return html.replace(/(id="graph">).*?(<\/script>)/su, (_, before: string, after: string) => before + JSON.stringify(data) + after);
}

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
		page = await open({ viewport: { width: 1280, height: 800 }, colorScheme: "light" });
		page.on("pageerror", (error) => complaints.push(error.message));
		// A policy that refuses the script or the style sheet is told here too.
		page.on("console", (message) => complaints.push(message.text()));
		await page.goto(`file://${file}`);
	});

	afterAll(() => strike(browser, memory));

	/** Another page, which a busy machine takes long to draw. */
	async function open(options: BrowserContextOptions = {}): Promise<Page> {
		const made = await browser.newPage(options);
		made.setDefaultTimeout(2 * PATIENCE);
		return made;
	}

	test("its style sheet is CSS", async () => {
		const { warnings } = await transform(await readFile(join(import.meta.dirname, "../../../vaultsync/graph/static/page.css"), "utf8"), { loader: "css" });
		expect(warnings).toEqual([]);
	});

	test("counts what it draws, and draws it", async () => {
		await expect.poll(() => page.locator("#summary").innerText()).toMatch(/^\d+ nodes, \d+ links\.$/);
		const drawn = (): Promise<boolean> =>
			page.evaluate(() => {
				const canvas = document.querySelector("canvas");
				return canvas?.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data.some((part) => part > 0) ?? false;
			});
		await expect.poll(drawn).toBe(true);
	});

	test.each([
		["in light", { viewport: { width: 1280, height: 800 }, colorScheme: "light" }],
		["in dark", { viewport: { width: 1280, height: 800 }, colorScheme: "dark" }],
		["on a phone", { viewport: { width: 375, height: 720 }, colorScheme: "light", hasTouch: true, isMobile: true }],
	] as const)("shows the nodes in the colours of their types and joined by lines, none under a card, %s", async (_, look) => {
		const other = await open({ ...look, reducedMotion: "reduce" });
		await other.goto(page.url());
		await other.waitForFunction(() => !running && layout.placed && !wanted);
		const seen = await other.evaluate(() => {
			const canvas = document.querySelector("canvas");
			const pen = canvas?.getContext("2d");
			if (!canvas || !pen) throw new Error("no picture");
			const scale = canvas.width / innerWidth;
			const colour = (left: number, top: number): string => {
				const rgb = [...pen.getImageData(left * scale, top * scale, 1, 1).data].slice(0, 3);
				return `#${rgb.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
			};
			const places = graph.nodes.map((__, i) => place(i));
			const ground = colour(1, innerHeight - 1);
			const picture = new Uint32Array(pen.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
			return {
				nodes: places.length,
				hidden: places.filter(([left, top]) => document.elementFromPoint(left, top) !== canvas).length,
				coloured: places.filter(([left, top], i) => colour(left, top) === graph.types[graph.nodes[i]?.[1] ?? 0]?.[1]).length,
				ground,
				drawn: picture.filter((pixel) => pixel !== picture[picture.length - 1]).length / picture.length,
			};
		});
		expect(seen.hidden).toBe(0);
		// A label or a larger node may lie over the middle of a few.
		expect(seen.coloured / seen.nodes).toBeGreaterThan(0.85);
		expect(seen.ground).toBe(look.colorScheme === "dark" ? "#16181d" : "#fbfaf8");
		// Circles, names and lines take part of the window, not all and not next to nothing of it.
		expect(seen.drawn).toBeGreaterThan(0.02);
		expect(seen.drawn).toBeLessThan(0.4);
		await other.close();
	});

	test("finds a node by its title, and shows what is joined to it", async () => {
		await page.getByRole("combobox", { name: "Search" }).fill("bente");
		await page.locator("#results").getByRole("option").first().waitFor();
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

	test("shows that the keyboard is on the drawing", async () => {
		const other = await open({ reducedMotion: "reduce" });
		await other.goto(page.url());
		await other.waitForFunction(() => !running && layout.placed && !wanted);
		const edge = (): Promise<Buffer> => other.screenshot({ clip: { x: 600, y: 0, width: 40, height: 4 } });
		const before = await edge();
		await other.keyboard.press("Tab");
		expect(await other.evaluate(() => document.activeElement?.id)).toBe("picture");
		await other.waitForTimeout(200);
		expect((await edge()).equals(before)).toBe(false);
		await other.close();
	});

	test("is drawn at rest for those who want no motion", async () => {
		const calm = await open({ reducedMotion: "reduce" });
		await count(calm);
		await calm.goto(page.url());
		await calm.waitForFunction(() => !running);
		await calm.waitForTimeout(100);
		expect(await calm.evaluate(() => drawn)).toBeLessThan(5);
		await calm.close();
	});

	test("draws a large graph a few times until it is at rest, always the same, notes without links below", async () => {
		const file = join(memory.vault, "..", "large.html");
		const html = await readFile(join(memory.vault, "..", "graph.html"), "utf8");
		await writeFile(file, withData(html, large(6000)));
		const places: string[] = [];
		for (let turn = 0; turn < 2; turn++) {
			const other = await open();
			await count(other);
			await other.goto(`file://${file}`);
			await other.waitForFunction(() => !running);
			// Once in 600 ms at most, for as long as a busy machine arranges it.
			expect(await other.evaluate(() => drawn - performance.now() / 600)).toBeLessThan(5);
			expect(await other.evaluate(() => Math.min(...y.filter((_, i) => i % 10 === 0)) > Math.max(...y.filter((_, i) => i % 10 !== 0)))).toBe(true);
			places.push(await other.evaluate(() => [...x, ...y].join()));
			await other.close();
		}
		expect(places[0]).not.toContain("NaN");
		expect(places[0]).toBe(places[1]);
	});

	test("keeps the keyboard where it was after a choice in the panel, and forgets what the pointer was over", async () => {
		await page.locator("canvas").press("n");
		await page.locator("canvas").press("Enter");
		await page.mouse.move(20, 20); // where no new button comes to lie under it
		await page.locator("#panel li button").first().dispatchEvent("pointerenter");
		await page.keyboard.press("Enter");
		expect(await page.evaluate(() => [document.activeElement?.id, hover])).toEqual(["picture", -1]);
		await page.locator("canvas").press("Escape");
		await page.locator("#panel").waitFor({ state: "hidden" });
	});

	test("finds what its filters show, not only what is drawn with a node", async () => {
		await page.locator("canvas").press("n");
		await page.locator("canvas").press("f");
		await page.getByRole("combobox", { name: "Search" }).fill("e");
		const narrow = await page.getByRole("status").innerText();
		await page.keyboard.press("Escape");
		await page.locator("canvas").press("f");
		await page.getByRole("combobox", { name: "Search" }).fill("e");
		expect(await page.getByRole("status").innerText()).toBe(narrow);
		await page.keyboard.press("Escape");
		await page.locator("canvas").press("Escape");
	});

	test("draws nothing before the nodes have places, few circles at once, and moves a large picture as it is", async () => {
		const other = await open();
		await count(other);
		await other.addInitScript(() => {
			const pens = CanvasRenderingContext2D.prototype as unknown as Record<string, (...given: unknown[]) => void>;
			let parts = 0;
			Object.assign(window, { most: 0, early: false });
			const watch = (name: string, act: () => void): void => {
				const whole = pens[name];
				pens[name] = function (...given) {
					act();
					whole?.apply(this, given);
				};
			};
			watch("beginPath", () => (parts = 0));
			watch("arc", () => parts++);
			watch("rect", () => parts++);
			watch("fill", () => {
				most = Math.max(most, parts);
				early ||= !layout.placed;
			});
		});
		await other.goto(`file://${join(memory.vault, "..", "large.html")}`);
		await other.waitForFunction(() => !running && drawn > 0);
		expect(await other.evaluate(() => [most > 0 && most <= 100, early])).toEqual([true, false]);
		const draws = await other.evaluate(async () => {
			const frames = async (): Promise<void> => {
				for (let turn = 0; turn < 2; turn++) await new Promise(requestAnimationFrame);
			};
			await frames();
			// It comes to rest when the test says so, however long a busy machine takes for a frame.
			let rest = (): void => undefined;
			Object.assign(window, { setTimeout: (then: () => void) => void (rest = then) });
			const counts = [drawn];
			for (let turn = 0; turn < 5; turn++) {
				move(10, 0);
				await frames();
			}
			counts.push(drawn);
			rest();
			await frames();
			return [...counts, drawn].map((each) => each - (counts[0] ?? 0));
		});
		expect(draws).toEqual([0, 0, 1]);
		await other.close();
	});

	test.each([
		["no node", [], []],
		["one node", [0], []],
		["links to itself", [0, 1, 2], [[0, 0], [0, 1], [2, 2]]],
		["notes without links", Array.from({ length: 2000 }, (_, i) => i), []],
		["a hub", Array.from({ length: 2001 }, (_, i) => i), Array.from({ length: 2000 }, (_, i) => [i + 1, 0])],
	])("draws %s", async (name, nodes, links) => {
		const file = join(memory.vault, "..", "few.html");
		const data = { types: [["note", "#8b8fa3"]], kinds: ["mentions"], nodes: nodes.map((i) => [`Note ${i}`, 0, null, "", "", ""]), links: links.map((link) => [...link, 0, "", 1]) };
		await writeFile(file, withData(await readFile(join(memory.vault, "..", "graph.html"), "utf8"), data));
		const other = await open();
		other.on("pageerror", (error) => complaints.push(`${name}: ${error.message}`));
		await other.goto(`file://${file}`);
		await other.waitForFunction(() => !running);
		expect(await other.evaluate(() => [...x, ...y].every(Number.isFinite))).toBe(true);
		await other.locator("canvas").press("n");
		await other.close();
	});

	test("shows one scope or one span of time, and the types in it", async () => {
		const summary = page.locator("#summary");
		const whole = await summary.innerText();
		const types = page.getByRole("navigation", { name: "Types" }).getByRole("button");
		const all = await types.count();
		await page.getByLabel("Scope").selectOption("private-indy");
		expect(await summary.innerText()).toMatch(/^\d+ of \d+ nodes, \d+ links?\.$/);
		expect(await types.count()).toBeLessThan(all);
		await page.getByLabel("Scope").selectOption("");
		await page.getByLabel("Created").selectOption({ index: 1 });
		expect(await summary.innerText()).toMatch(/^\d+ of \d+ nodes/);
		await page.getByLabel("Created").selectOption("");
		expect(await summary.innerText()).toBe(whole);
	});

	test("shows only a node and its links, and goes back a step at a time", async () => {
		await page.locator("canvas").press("n");
		await page.locator("canvas").press("f");
		const back = page.getByRole("button", { name: "Show the whole graph" });
		await back.waitFor();
		await page.locator("canvas").press("Escape");
		await page.getByRole("button", { name: "Show only its links" }).waitFor();
		await page.locator("canvas").press("Escape");
		await page.locator("#panel").waitFor({ state: "hidden" });
	});

	test("shows only one type with Shift, and all of them again", async () => {
		const types = page.getByRole("navigation", { name: "Types" }).getByRole("button");
		const pressed = (): Promise<(string | null)[]> => types.evaluateAll((each) => each.map((one) => one.getAttribute("aria-pressed")));
		await types.nth(1).click({ modifiers: ["Shift"] });
		expect((await pressed()).filter((one) => one === "true")).toHaveLength(1);
		await types.nth(1).click({ modifiers: ["Shift"] });
		expect(await pressed()).not.toContain("false");
	});

	test("has the types on a phone, and nothing over them", async () => {
		const phone = await open({ viewport: { width: 375, height: 720 }, hasTouch: true, isMobile: true });
		await phone.goto(page.url());
		await phone.getByRole("navigation", { name: "Types" }).getByRole("button").first().tap();
		const [types, tools] = await Promise.all([phone.locator("nav").boundingBox(), phone.locator("#tools").boundingBox()]);
		expect((types?.y ?? 0) + (types?.height ?? 0)).toBeLessThanOrEqual(tools?.y ?? 0);
		expect(await phone.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
		await phone.close();
	});

	test("keeps the selection while two fingers zoom, and holds no node that one of them dragged", async () => {
		const phone = await open({ viewport: { width: 375, height: 720 }, hasTouch: true, isMobile: true, reducedMotion: "reduce" });
		await phone.goto(page.url());
		await phone.waitForFunction(() => !running && layout.placed && !wanted);
		await phone.locator("canvas").press("n");
		const name = await phone.locator("#panel h2").innerText();
		const { k, at } = await phone.evaluate(() => ({ k: view.k, at: graph.nodes.map((_, i) => place(i)).find(([left, top]) => document.elementFromPoint(left, top)?.id === "picture") ?? [0, 0] }));
		const [left, top] = at as [number, number];
		const fingers = await phone.context().newCDPSession(phone);
		const touch = (type: "touchStart" | "touchMove" | "touchEnd", ...points: [number, number][]): Promise<unknown> =>
			fingers.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([px, py], id) => ({ x: px, y: py, id })) });
		await touch("touchStart", [left, top]);
		await touch("touchMove", [left + 20, top]);
		await touch("touchStart", [left + 20, top], [188, 200]);
		for (const far of [10, 20, 30]) await touch("touchMove", [left + 20, top], [188 + far, 200 + far]);
		await touch("touchEnd", [left + 20, top]);
		await touch("touchEnd");
		expect(await phone.evaluate(() => [view.k, Math.max(...pinned)])).toEqual([expect.not.closeTo(k), 0]);
		expect(await phone.locator("#panel h2").innerText()).toBe(name);
		await phone.close();
	});

	test("is neither moved nor changed by the right button", async () => {
		const other = await open({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
		await other.goto(page.url());
		await other.waitForFunction(() => !running && layout.placed && !wanted);
		await other.locator("canvas").press("n");
		await other.mouse.click(640, 780, { button: "right" });
		expect(await other.locator("#panel").isVisible()).toBe(true);
		await other.close();
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
