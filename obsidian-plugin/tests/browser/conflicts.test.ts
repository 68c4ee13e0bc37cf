import type { Locator } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Memory, type Fact } from "./memory";
import { inBrowser } from "./ready";
import { Stage, strike } from "./stage";
import { lampConflict } from "./story";

inBrowser("conflicts", () => {
	let memory: Memory;
	let stage: Stage;
	let lamp: Fact;

	beforeAll(async () => {
		memory = await Memory.make();
		lamp = await lampConflict(memory);
		await memory.serve();
		stage = await Stage.open(memory.vault, { theme: "light", width: 1280, height: 800 }, memory);
	});

	afterAll(() => strike(stage, memory));

	test("the status bar tells of one, and leads to it by the keyboard", async () => {
		await stage.says("1 conflict");
		const bar = stage.page.getByRole("button", { name: "Vaultsync: 1 conflict to resolve." });
		await bar.focus();
		await stage.page.keyboard.press("Enter");
		await stage.page.getByRole("heading", { name: "Content" }).waitFor();
	});

	test("both versions stand side by side, and what both started from on demand", async () => {
		const { page } = stage;
		const table = page.getByRole("table", { name: "Content: both versions" });
		expect(await table.locator("mark").allInnerTexts()).toEqual(expect.arrayContaining(["Bente", "Friday", "Monday"]));
		const field = page.locator(".vaultsync-field").first();
		await field.getByRole("button", { name: "Show the version before" }).click();
		expect(await field.locator("pre").innerText()).toContain("nobody yet.");
		await field.getByRole("button", { name: "Hide the version before" }).click();
		expect(await field.locator("pre").count()).toBe(0);
	});

	test("equal lines are folded, and unfold", async () => {
		const { page } = stage;
		expect(await page.getByText("has been dark since").count()).toBe(0);
		await page.getByRole("button", { name: "Show 3 equal lines" }).click();
		expect(await page.locator(".vaultsync-diff").getByText("has been dark since").count()).toBe(2);
	});

	test("a field is taken from the agent, and the note says so", async () => {
		const { page } = stage;
		const priority = page.locator(".vaultsync-field", { has: page.getByRole("heading", { name: "Priority" }) });
		await priority.getByRole("button", { name: "Take the agent’s" }).click();
		await page.getByText("Priority: the agent’s version was taken.").waitFor();
		await expect.poll(() => memory.read(lamp.path)).toContain("\npriority: 1\n");
		await priority.waitFor({ state: "detached" });
	});

	test("a text merged by hand stands in note and memory, and outlives what happens meanwhile", async () => {
		const { page } = stage;
		await page.getByRole("button", { name: "Merge by hand" }).click();
		const area = page.getByLabel("The merged text");
		expect(await area.inputValue()).toContain("Bente, on Friday.\nWho climbs the mast: a rigger from town, on Monday.");
		await area.fill("The lamp is dark.\n\nBente climbs, with a rigger from town.");
		await memory.cli("update", lamp.id, "--add-tag", "safety", "--agent", "moss");
		await stage.run("sync-now");
		await page.getByText("Synced:").first().waitFor();
		expect(await area.inputValue()).toContain("with a rigger from town");
		await page.getByRole("button", { name: "Save merged text" }).click();
		await page.getByText("No conflicts").waitFor();
		await expect.poll(() => memory.read(lamp.path)).toContain("Bente climbs, with a rigger from town.");
		expect((await memory.fact(lamp.id)).content).toBe("The lamp is dark.\n\nBente climbs, with a rigger from town.");
		await stage.says("in sync");
	});

	test("all fields of a note at once stay the person's", async () => {
		const { page } = stage;
		// With the daemon away, for it would take the first of these before the last is there.
		await memory.stop();
		await memory.edit(lamp.path, "with a rigger from town", "alone");
		await memory.edit(lamp.path, "priority: 1", "priority: 0");
		await memory.cli("update", lamp.id, "--content", "The lamp is dark.\n\nNobody climbs.", "--set", "priority=4", "--agent", "indy");
		await memory.serve();
		await page.getByRole("button", { name: "Keep all mine" }).click();
		await page.getByText("No conflicts").waitFor();
		expect(await memory.fact(lamp.id)).toMatchObject({ content: "The lamp is dark.\n\nBente climbs, alone.", priority: 0 });
	});

	test("a deletion is told as one, and the note stays when it is kept", async () => {
		const { page } = stage;
		await memory.stop();
		await memory.edit(lamp.path, "alone", "with Bente's brother");
		await memory.cli("forget", lamp.id, "--agent", "indy");
		await memory.serve();
		await page.getByText("An edit takes precedence over a deletion, so your note was kept.").waitFor();
		expect(await page.getByRole("button", { name: "Merge by hand" }).count()).toBe(0);
		await page.getByRole("button", { name: "Keep the note" }).click();
		await page.getByText("The note was kept.").waitFor();
		await page.getByText("No conflicts").waitFor();
		expect((await memory.fact(lamp.id)).content).toContain("with Bente's brother");
	});

	test("a copy of a sync tool is merged into its note", async () => {
		const { page } = stage;
		const copy = lamp.path.replace(/\.md$/, " (Conflicted copy).md");
		await memory.write(copy, (await memory.read(lamp.path)).replace("The lamp is dark.", "The lamp is dark.\n\nIt flickers at night."));
		await page.getByText("1 copy that a sync tool put beside its note").waitFor();
		await page.getByRole("button", { name: "Merge into the note" }).click();
		await page.getByText("The copy was merged into its note.").waitFor();
		await expect.poll(() => memory.read(lamp.path)).toContain("It flickers at night.");
		await page.getByText("No conflicts").waitFor();
	});

	test("a text being merged outlives that all fields of another note are settled", async () => {
		const { page } = stage;
		await memory.stop();
		const other = await lampConflict(memory);
		await memory.edit(lamp.path, "The lamp is dark.", "The lamp is dim.");
		await memory.cli("update", lamp.id, "--content", "The lamp is out.", "--agent", "indy");
		await memory.serve();
		const entry = (id: string): Locator => page.locator(".vaultsync-conflict", { has: page.getByRole("button", { name: `Open ${id}` }) });
		await entry(lamp.path).getByRole("button", { name: "Merge by hand" }).click();
		await page.getByLabel("The merged text").fill("The lamp flickers.");
		await entry(other.path).getByRole("button", { name: "Keep all mine" }).click();
		await entry(other.path).waitFor({ state: "detached" });
		expect(await page.getByLabel("The merged text").inputValue()).toBe("The lamp flickers.");
	});
});
