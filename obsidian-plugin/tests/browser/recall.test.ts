import { afterAll, beforeAll, expect, test } from "vitest";
import { Memory } from "./memory";
import { inBrowser } from "./ready";
import { Stage, strike } from "./stage";

inBrowser("recall and packs", () => {
	let memory: Memory;
	let stage: Stage;

	beforeAll(async () => {
		memory = await Memory.make();
		await memory.serve();
		stage = await Stage.open(memory.vault, { theme: "dark", width: 1280, height: 800 }, memory);
		await stage.says("in sync");
	});

	afterAll(() => strike(stage, memory));

	test("answers come while typing, with the reason for each", async () => {
		const { page } = stage;
		await stage.run("show-recall");
		await page.getByRole("searchbox", { name: "Recall" }).fill("wet gloves");
		const first = page.locator(".vaultsync-hit").first();
		await first.getByRole("button", { name: "Test with wet gloves" }).waitFor();
		expect(await first.locator(".vaultsync-why").innerText()).toContain("Has “wet”");
		expect(await page.locator(".vaultsync-say").innerText()).toContain("by keyword search");
	});

	test("Enter runs a semantic search, or says that it cannot", async () => {
		const { page } = stage;
		await page.getByRole("searchbox", { name: "Recall" }).press("Enter");
		await expect.poll(() => page.locator(".vaultsync-say").innerText()).not.toMatch(/Press Enter|Running/);
	});

	test("filters narrow the answers", async () => {
		const { page } = stage;
		await page.getByRole("searchbox", { name: "Recall" }).fill("harbour");
		await page.locator(".vaultsync-hit").nth(2).waitFor();
		await page.getByLabel("Type", { exact: true }).selectOption("decision");
		await expect.poll(async () => new Set(await page.locator(".vaultsync-hit-head .vaultsync-chip").allInnerTexts())).toEqual(new Set(["decision"]));
		await page.getByLabel("Type", { exact: true }).selectOption("");
		await page.getByLabel("Scope").selectOption("team-core");
		await expect.poll(async () => (await page.locator(".vaultsync-path").allInnerTexts()).every((path) => path.startsWith("team-core/"))).toBe(true);
		await page.getByLabel("Scope").selectOption("");
	});

	test("what is hidden by default is counted, and shown on demand", async () => {
		const { page } = stage;
		const box = page.getByRole("searchbox", { name: "Recall" });
		await box.fill("green cabinet warm");
		await page.getByText("2 more facts are hidden: 1 superseded, 1 with background priority.").waitFor();
		const before = await page.locator(".vaultsync-hit").count();
		await page.getByRole("button", { name: "Show all" }).click();
		await expect.poll(() => page.locator(".vaultsync-hit").count()).toBe(before + 2);
		expect(await page.getByText("more facts are hidden").count()).toBe(0);
	});

	test("hits are walked with the arrows, and Enter opens one", async () => {
		const { page } = stage;
		const box = page.getByRole("searchbox", { name: "Recall" });
		await box.fill("wet gloves");
		await page.locator(".vaultsync-hit").first().getByRole("button", { name: "Test with wet gloves" }).waitFor();
		await box.press("ArrowDown");
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("ArrowUp");
		await page.keyboard.press("Enter");
		await page.locator(".inline-title", { hasText: "Test with wet gloves" }).waitFor();
	});

	test("a hit becomes a link in the open note", async () => {
		const { page } = stage;
		await stage.note("Inbox/Ideas from the ferry.md");
		await stage.edit();
		await page.getByLabel("Editor").press("Control+End");
		await page.locator(".vaultsync-hit").first().getByRole("button", { name: "Insert a link into the note" }).click();
		expect(await page.getByLabel("Editor").inputValue()).toContain("[[Test with wet gloves]]");
		// The person writes on behind the link.
		expect(await page.getByLabel("Editor").evaluate((el) => el === document.activeElement)).toBe(true);
	});

	test("a hit is picked, and stands in the pack before what was packed", async () => {
		const { page } = stage;
		await page.locator(".vaultsync-hit").first().getByRole("button", { name: "Add to pack" }).click();
		await page.getByRole("button", { name: "Remove from the pack" }).waitFor();
		await stage.run("show-context");
		await page.getByRole("searchbox", { name: "Question for the pack" }).fill("open the pier for the season");
		await page.keyboard.press("Enter");
		await page.getByRole("heading", { name: "Picked by you" }).waitFor();
		await page.getByRole("img", { name: /Tokens by tier: Picked .*Notable/ }).waitFor();
		await page.getByRole("button", { name: "Copy", exact: true }).click();
		const copied = await page.evaluate(() => navigator.clipboard.readText());
		expect(copied).toMatch(/^## Picked\n\n### Test with wet gloves\n[\s\S]*# Context: open the pier for the season/);
	});

	test("what a pack leaves out by default is counted, and packed on demand", async () => {
		const { page } = stage;
		await page.getByRole("searchbox", { name: "Question for the pack" }).fill("green cabinet warm");
		await page.keyboard.press("Enter");
		await page.getByText("1 more fact is hidden: 1 superseded.").waitFor();
		await page.getByRole("button", { name: "Include it" }).click();
		await expect.poll(() => page.getByText("more fact is hidden").count()).toBe(0);
		await page.getByRole("searchbox", { name: "Question for the pack" }).fill("open the pier for the season");
		await page.keyboard.press("Enter");
		await page.getByText("# Context: open the pier for the season").waitFor({ state: "attached" });
	});

	test("less budget leaves more out, and says what", async () => {
		const { page } = stage;
		const slider = page.getByLabel("Budget");
		await slider.focus();
		await slider.press("Home");
		await expect.poll(() => page.locator(".vaultsync-pack-head .vaultsync-hero-title").innerText()).toMatch(/of 500 tokens/);
		const tokens = Number((await page.locator(".vaultsync-pack-head .vaultsync-hero-title").innerText()).split(" ")[0]?.replace(",", ""));
		expect(tokens).toBeLessThanOrEqual(500);
		await page.getByText(/^Left out: /).click();
		expect(await page.locator(".vaultsync-details li").first().innerText()).not.toBe("");
	});
});
