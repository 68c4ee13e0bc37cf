import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { Memory } from "./memory";
import { inBrowser } from "./ready";
import { Stage, type Look } from "./stage";
import { lampConflict } from "./story";

const WIDE: Look = { theme: "light", width: 1280, height: 800 };
const VIEWS = ["status", "conflicts", "recall", "context", "related", "note", "index"] as const;
/** What is to be seen of a view when its answer is there. */
const SHOWN: Record<(typeof VIEWS)[number], string> = {
	status: ".vaultsync-hero:visible", conflicts: ".vaultsync-conflict:visible", recall: ".vaultsync-empty:visible", context: ".vaultsync-empty:visible",
	related: ".vaultsync-say:visible", note: ".vaultsync-history:visible", index: ".vaultsync-index:visible",
};

inBrowser("the line to the daemon", () => {
	let memory: Memory;
	let stage: Stage | null = null;

	beforeAll(async () => {
		memory = await Memory.make();
		await lampConflict(memory);
		await memory.serve();
	});

	afterEach(async () => {
		await stage?.close();
		stage = null;
	});

	afterAll(() => memory.remove());

	test("is lost and found again; the views wait, and nothing pops up", async () => {
		stage = await Stage.open(memory.vault, WIDE, memory);
		const { page } = stage;
		await stage.says("1 conflict");
		await stage.run("show-conflicts");
		await page.getByRole("button", { name: "Keep all mine" }).waitFor();
		await memory.stop();
		await stage.says("daemon off");
		await page.getByText("The daemon is not running. Your notes are unchanged.").first().waitFor();
		expect(await page.locator(".vaultsync-body").first().getAttribute("inert")).not.toBeNull();
		expect(await page.locator(".notice").count()).toBe(0);
		await memory.serve();
		await stage.says("1 conflict");
		expect(await page.locator(".vaultsync-body").first().getAttribute("inert")).toBeNull();
	});

	test("is not taken up with a wrong token, nor with another vault's daemon", async () => {
		stage = await Stage.open(memory.vault, WIDE, { address: memory.address, token: "wrong" });
		await stage.says("not connected");
		await stage.close();
		const other = await Memory.make("019bb16a-6d6f-7a73-956c-000000000000");
		try {
			await other.serve();
			stage = await Stage.open(memory.vault, WIDE, other);
			await stage.says("other vault");
		} finally {
			await other.remove();
		}
	});

	test("is set up in the settings: the token goes to the secret storage, not into the vault", async () => {
		stage = await Stage.open(memory.vault, WIDE, { address: memory.address, token: "" });
		const { page } = stage;
		await stage.says("not connected");
		await page.getByRole("button", { name: /^Vaultsync: No token/ }).click();
		await page.locator(".vaultsync-banner").getByRole("button", { name: "Settings" }).click();
		await page.getByLabel("Token", { exact: true }).fill(memory.token);
		await page.getByRole("button", { name: "Connect" }).click();
		await stage.says("1 conflict");
		expect(await page.evaluate(() => window.running.app.secretStorage.listSecrets())).toEqual([expect.stringMatching(/^vaultsync-[0-9a-f-]{36}$/)]);
		expect(JSON.stringify(await page.evaluate(() => window.running.plugin.loadData()))).not.toContain(memory.token);
	});

	test.each(["light", "dark"] as const)("all views fit a pane of 300 pixels, and all that can be pressed has a name (%s)", async (theme) => {
		stage = await Stage.open(memory.vault, { theme, width: 1280, height: 800 }, memory);
		const { page } = stage;
		await stage.says("1 conflict");
		await stage.note((await memory.cli("conflicts") as { conflicts: { path: string }[] }).conflicts[0]?.path ?? "");
		// A view asks for what it shows once it is seen.
		for (const view of VIEWS) {
			await stage.run(`show-${view}`);
			await page.locator(SHOWN[view]).first().waitFor();
		}
		await page.getByRole("searchbox", { name: "Recall", includeHidden: true }).evaluate((box: HTMLInputElement) => {
			box.value = "berth";
			box.dispatchEvent(new Event("input"));
		});
		await page.locator(".vaultsync-hit").first().waitFor({ state: "attached" });
		const faults = await page.evaluate(() => {
			const found: string[] = [];
			for (const view of Array.from(document.querySelectorAll<HTMLElement>(".vaultsync-view"))) {
				const frame = view.parentElement;
				if (!frame) continue;
				frame.style.cssText = "display: flex; position: fixed; inset: 0 auto 0 0; width: 300px; z-index: 99";
				if (view.scrollWidth > view.clientWidth) found.push(`${view.innerText.slice(0, 30)}: ${view.scrollWidth} wide`);
				frame.style.cssText = "";
			}
			for (const el of Array.from(document.querySelectorAll<HTMLElement>(".vaultsync-view :is(button, select, input, textarea, [role=img]), .vaultsync-bar"))) {
				const labels = (el as HTMLInputElement).labels?.length ?? 0;
				if ((el.getAttribute("aria-label") ?? el.innerText) === "" && labels === 0) found.push(el.outerHTML.slice(0, 80));
			}
			return found;
		});
		expect(faults).toEqual([]);
	});
});
