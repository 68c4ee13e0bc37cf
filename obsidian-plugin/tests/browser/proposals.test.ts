import { afterAll, beforeAll, expect, test } from "vitest";
import { Memory, type Fact } from "./memory";
import { inBrowser } from "./ready";
import { Stage, strike } from "./stage";
import { sixtyProposals } from "./story";

interface Listed {
	id: string;
	kind: string;
	title: string;
	outcome: string;
	run: string;
	changes: { fact_id: string; path: string | null; after: Record<string, unknown> | null }[];
}

inBrowser("proposals", () => {
	let memory: Memory;
	let stage: Stage;
	const listed = async (): Promise<Listed[]> => ((await memory.cli("proposals", "list", "--settled")) as unknown as { proposals: Listed[] }).proposals;
	const current = (): Promise<string> => stage.page.locator(".vaultsync-proposal.is-current .vaultsync-proposal-title").innerText();

	beforeAll(async () => {
		memory = await Memory.make();
		await sixtyProposals(memory);
		await memory.serve();
		stage = await Stage.open(memory.vault, { theme: "light", width: 1280, height: 800 }, memory);
	});

	afterAll(() => strike(stage, memory));

	test("are counted in the status bar and in the ribbon, and both lead to them", async () => {
		const { page } = stage;
		await stage.says("60 proposals");
		expect(await page.locator(".vaultsync-ribbon").getAttribute("data-count")).toBe("60");
		await page.getByRole("button", { name: "Vaultsync: 60 proposals to answer." }).focus();
		await page.keyboard.press("Enter");
		await page.getByText("60 proposals wait for your answer.").waitFor();
		expect(await page.locator(".vaultsync-proposal").count()).toBe(60);
	});

	test("say what, why, by whom and until when, and what would change in each field", async () => {
		const { page } = stage;
		const first = page.locator(".vaultsync-proposal").first();
		const said = await first.innerText();
		expect(said).toContain("Duplicates");
		expect(said).toContain("Both say nearly the same");
		expect(said).toMatch(/By rules, on \d{4}-\d\d-\d\d; until \d{4}-\d\d-\d\d/);
		expect(await first.locator("pre[data-verb=Delete]").innerText()).toContain("Each morning a keeper");
		const merged = first.getByRole("table", { name: "Content: both versions" });
		expect(await merged.innerText()).toContain("Each morning a keeper");
		await page.locator(".vaultsync-proposal-head", { hasText: "Better title" }).first().click();
		const here = page.locator(".vaultsync-proposal.is-current");
		await here.getByRole("table", { name: "Title: both versions" }).waitFor();
		expect((await here.locator("td").allInnerTexts()).join("\n")).toContain("New:\nThe anchor at the breakwater wants new paint");
	});

	test("are walked by the keyboard, and the note of one is opened", async () => {
		const { page } = stage;
		await page.locator(".vaultsync-proposal-head").first().click();
		const first = await current();
		await page.keyboard.press("j");
		const second = await current();
		expect(second).not.toBe(first);
		await page.keyboard.press("ArrowUp");
		expect(await current()).toBe(first);
		await page.keyboard.press("o");
		await page.locator(".inline-title", { hasText: "each-morning" }).waitFor();
		await stage.run("show-proposals");
	});

	test.each(["light", "dark"] as const)("fit a pane of 300 pixels (%s)", async (theme) => {
		await stage.theme(theme);
		const view = stage.page.locator(".vaultsync-view:visible").first();
		const sizes = await view.evaluate((el) => {
			const frame = el.parentElement;
			if (frame) frame.style.cssText = "display: flex; position: fixed; inset: 0 auto 0 0; width: 300px; z-index: 99";
			const found = [el.scrollWidth, el.clientWidth];
			if (frame) frame.style.cssText = "";
			return found;
		});
		expect(sizes).toEqual([300, 300]);
	});

	test("of which one has changed since is shown again, with what changed", async () => {
		const { page } = stage;
		const { id, changes } = (await listed()).find(({ kind }) => kind === "retitle") ?? { id: "", changes: [] };
		const title = await page.locator(".vaultsync-proposal-head", { hasText: "Better title" }).first().locator(".vaultsync-proposal-title").innerText();
		await page.locator(".vaultsync-proposal-head", { hasText: title }).click();
		await memory.call("PATCH", `/v1/facts/${changes[0]?.fact_id ?? ""}`, { set: { title: "Another title" } });
		await page.keyboard.press("a");
		await page.locator(".vaultsync-answered", { hasText: "Nothing was done. " }).waitFor();
		expect(await page.locator(".vaultsync-answered").innerText()).toContain("title changed since this was proposed");
		await page.locator(".vaultsync-proposal-head", { hasText: title }).click();
		await page.getByText("Review again: Title changed after this was proposed.").waitFor();
		expect((await page.locator(".vaultsync-proposal.is-current td").allInnerTexts()).join("\n")).toContain("Now:\nAnother title");
		await page.keyboard.press("a");
		await page.locator(".vaultsync-answered", { hasText: `Accepted: ${title}.` }).waitFor();
		expect((await listed()).find((each) => each.id === id)).toMatchObject({ outcome: "accepted" });
	});

	test("of one kind are accepted at once after a question that says how many, and undone", async () => {
		const { page } = stage;
		await page.getByRole("button", { name: "Accept all of the kind Contradiction" }).click();
		const dialog = page.getByRole("dialog", { name: "Accept 8 proposals?" });
		await dialog.getByRole("button", { name: "Cancel" }).click();
		expect(await page.getByText("59 proposals wait for your answer.").count()).toBe(1);
		await page.getByRole("button", { name: "Accept all of the kind Contradiction" }).click();
		await dialog.getByRole("button", { name: "Accept all 8" }).click();
		await page.locator(".vaultsync-answered", { hasText: "Accepted 8 proposals." }).waitFor();
		const done = (await listed()).filter(({ kind }) => kind === "contradiction");
		expect(new Set(done.map(({ outcome }) => outcome))).toEqual(new Set(["accepted"]));
		expect(new Set(done.map(({ run }) => run)).size).toBe(1);
		const older = done[0]?.changes[0]?.fact_id ?? "";
		expect(await memory.fact(older)).toMatchObject({ supersededById: done[0]?.changes[1]?.fact_id });
		await page.keyboard.press("u");
		await page.locator(".vaultsync-answered", { hasText: "Undone: " }).waitFor();
		expect(await memory.fact(older)).not.toHaveProperty("supersededById");
	});

	test("only one is answered by a key that is held", async () => {
		const { page } = stage;
		await page.getByText("51 proposals wait for your answer.").waitFor();
		await page.locator(".vaultsync-proposal-head").first().click();
		for (let n = 0; n < 5; n++) await page.keyboard.down("r");
		await page.keyboard.up("r");
		await page.getByText("50 proposals wait for your answer.").waitFor();
	});

	test("fifty are settled with one key each", async () => {
		const { page } = stage;
		const verdicts = new Map<string, string>();
		for (let n = 0; n < 50; n++) {
			const reject = n % 5 === 4;
			verdicts.set(await current(), reject ? "rejected" : "accepted");
			await page.keyboard.press(reject ? "r" : "a");
		}
		await page.getByText("No proposals").waitFor();
		await expect.poll(() => stage.page.locator(".vaultsync-bar-text").innerText()).not.toContain("proposal");
		const all = await listed();
		const settled = all.filter(({ title }) => verdicts.has(title));
		expect(settled.map(({ title, outcome }) => [title, outcome])).toEqual(settled.map(({ title }) => [title, verdicts.get(title)]));
		expect(settled.length).toBeGreaterThanOrEqual(50);
		const runs = settled.filter(({ outcome }) => outcome === "accepted").map(({ run }) => run);
		expect(new Set(runs).size).toBe(runs.length);
		const { facts } = (await memory.cli("list", "--type", "lesson", "--limit", "100")) as { facts: Fact[] };
		const titles = new Map(facts.map(({ id, title }) => [id, title]));
		for (const { kind, outcome, changes } of settled) {
			const [change] = changes;
			if (kind === "retitle") expect(titles.get(change?.fact_id ?? "") === change?.after?.["title"]).toBe(outcome === "accepted");
		}
		expect(await memory.cli("verify")).toMatchObject({ equal: true });
	});
});
