/** A phone: no Node, no daemon; conflicts and proposals are read from their notes. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Memory } from "./memory";
import { inBrowser } from "./ready";
import { Stage, strike } from "./stage";
import { lampConflict, twoProposals } from "./story";

inBrowser("on a phone", () => {
	let memory: Memory;
	let stage: Stage;

	beforeAll(async () => {
		memory = await Memory.make();
		await lampConflict(memory);
		await twoProposals(memory);
		stage = await Stage.phone(memory.vault, "light");
	});

	afterAll(() => strike(stage, memory));

	test("the plugin loads without a module of Node, and sends nothing", async () => {
		expect(await page("requests")).toBe(0);
		expect(await page("commands")).toEqual(["show-conflicts", "show-proposals"]);
		expect(await stage.page.locator(".vaultsync-bar").count()).toBe(0);
	});

	test("proposals are listed by their notes, with what each would change", async () => {
		const { page } = stage;
		await expect.poll(() => page.locator(".vaultsync-ribbon").getAttribute("aria-label")).toBe("Answer 2 proposals");
		await page.locator(".vaultsync-ribbon").click();
		await page.getByText("2 proposals. Nothing changes until you tick a box").waitFor();
		await page.locator(".vaultsync-proposal-head", { hasText: "Better title" }).click();
		const text = page.locator(".vaultsync-review-text");
		await text.getByText("The ladder at the quay wants paint", { exact: false }).first().waitFor();
		expect(await text.innerText()).not.toContain("vaultsync:take");
	});

	test("a tick in the note is shown as one that waits", async () => {
		const { page } = stage;
		await page.getByRole("button", { name: "Open note to answer" }).click();
		await expect.poll(open).toMatch(/\.proposal\.md$/);
		await memory.edit(await open(), "- [ ] Accept", "- [x] Accept");
		await stage.run("show-proposals");
		await page.getByText("Ticked: Accept: do what is shown below. It waits for the next sync.").waitFor();
		await memory.cli("sync");
		await page.getByText("1 proposal. Nothing changes").waitFor();
		await expect.poll(() => page.locator(".vaultsync-ribbon").getAttribute("data-count")).toBe("1");
	});

	test("what is unfolded keeps the focus", async () => {
		const { page } = stage;
		const head = page.locator(".vaultsync-proposal-head:visible").first();
		await head.focus();
		for (const unfolded of ["true", "false"]) {
			await page.keyboard.press("Enter");
			await page.locator(`.vaultsync-proposal-head[aria-expanded=${unfolded}]:visible`).first().waitFor();
			await expect.poll(() => head.evaluate((el) => el === document.activeElement)).toBe(true);
		}
	});

	test("a note that cannot be read, as one that a cloud has not sent yet, hides no other", async () => {
		const { page } = stage;
		await memory.write("Elsewhere.proposal.md", "---\nvaultsync: proposal\n---\n");
		await stage.knows("Elsewhere.proposal.md");
		await page.evaluate(() => {
			const { vault } = window.running.app;
			const read = vault.cachedRead.bind(vault);
			vault.cachedRead = async (file) => {
				if (file.path.startsWith("Elsewhere")) throw new Error("not here yet");
				return read(file);
			};
		});
		await stage.run("show-conflicts");
		await page.evaluate(async () => {
			const [leaf] = window.running.app.workspace.getLeavesOfType("vaultsync-proposals");
			await leaf?.setViewState({ type: "empty" });
		});
		await stage.run("show-proposals");
		await page.getByText("1 proposal. Nothing changes").waitFor();
		await memory.delete("Elsewhere.proposal.md");
	});

	test("of many notes some are read and drawn, those that expire first, and more on demand", async () => {
		const { page } = stage;
		const paths = Array.from({ length: 60 }, (_, at) => `Many/${at}.proposal.md`);
		await mkdir(join(memory.vault, "Many"));
		for (const [at, path] of paths.entries()) {
			await memory.write(path, `---\nvaultsync: proposal\nproposal: "${at.toString(16).padStart(16, "0")}"\nkind: junk\nexpires: "2020-01-${String(1 + (at % 28)).padStart(2, "0")}"\n---\n# Proposal: Delete ${at}\n`);
		}
		for (const path of paths) await stage.knows(path);
		const shownAnew = async (): Promise<void> => {
			await page.evaluate(async () => window.running.app.workspace.getLeavesOfType("vaultsync-proposals")[0]?.setViewState({ type: "empty" }));
			await stage.run("show-proposals");
		};
		await page.evaluate(() => Object.assign(window.running.app.vault, { cachedRead: () => Promise.reject(new Error("not here yet")) }));
		await shownAnew();
		await page.getByText("11 proposals. Nothing changes").waitFor();
		await page.evaluate(() => Reflect.deleteProperty(window.running.app.vault, "cachedRead"));
		await shownAnew();
		await page.getByText("61 proposals. Nothing changes").waitFor();
		expect(await page.locator(".vaultsync-proposal-head:visible").count()).toBe(50);
		expect(await page.locator(".vaultsync-proposal-title:visible").first().innerText()).toBe("Delete 0");
		await page.getByRole("button", { name: "Show more (11)" }).click();
		await expect.poll(() => page.locator(".vaultsync-proposal-head:visible").count()).toBe(61);
		for (const path of paths) await memory.delete(path);
		await page.getByText("1 proposal. Nothing changes").waitFor();
	});

	test("conflicts are listed by theirs", async () => {
		const { page } = stage;
		await stage.run("show-conflicts");
		await page.getByText("1 conflict. The note keeps your version").waitFor();
		await page.locator(".vaultsync-proposal-head", { hasText: "Mend the lamp at berth 12" }).click();
		await page.locator(".vaultsync-review-text").getByText("Yours:").first().waitFor();
	});

	test("a conflict is listed by its note after the user renamed that", async () => {
		const { page } = stage;
		await stage.run("show-conflicts");
		const before = await page.evaluate(() => window.running.app.vault.getMarkdownFiles().find(({ path }) => path.endsWith(".conflict.md"))?.path ?? "");
		await memory.rename(before, "Lamp, to decide.md");
		await page.locator('.vaultsync-proposal-head[aria-expanded="false"]:visible', { hasText: "Mend the lamp at berth 12" }).click();
		await page.getByRole("button", { name: "Open note to answer" }).click();
		await expect.poll(open).toBe("Lamp, to decide.md");
	});

	test.each(["light", "dark"] as const)("nothing is wider than 375 pixels, and all that can be pressed is tall enough for a finger (%s)", async (theme) => {
		await stage.theme(theme);
		for (const view of ["show-conflicts", "show-proposals"]) {
			await stage.run(view);
			await stage.page.locator(".vaultsync-proposal-head:visible").first().waitFor();
			const faults = await stage.page.evaluate(() => {
				const found: string[] = [];
				for (const shown of Array.from(document.querySelectorAll<HTMLElement>(".vaultsync-view"))) {
					if (shown.offsetParent === null) continue;
					if (shown.scrollWidth > shown.clientWidth || shown.clientWidth > 375) found.push(`${shown.scrollWidth} wide`);
					for (const el of Array.from(shown.querySelectorAll<HTMLElement>("button"))) {
						if (el.offsetHeight < 40) found.push(`${el.innerText}: ${el.offsetHeight} tall`);
					}
				}
				return found;
			});
			expect(faults).toEqual([]);
		}
	});

	/** The path of the open note. */
	function open(): Promise<string> {
		return stage.page.evaluate(() => window.running.app.workspace.getActiveFile()?.path ?? "");
	}

	async function page(what: "requests" | "commands"): Promise<unknown> {
		if (what === "commands") return stage.page.evaluate(() => [...window.running.app.commands.keys()].sort());
		return stage.sent;
	}
});
