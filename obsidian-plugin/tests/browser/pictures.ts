/**
 * Pictures of the views, for a person to look at: light, dark and narrow.
 *
 * They lie in `build/pictures/` of the project, out of git. `npm run pictures` makes them anew.
 */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { test } from "vitest";
import { Memory } from "./memory";
import { browserPath, FLAGS, Stage } from "./stage";
import { fewProposals, lampConflict, supersededGlands } from "./story";

const OUT = join(import.meta.dirname, "..", "..", "..", "build", "pictures");

test("pictures of the views, light, dark and narrow", async () => {
	await mkdir(OUT, { recursive: true });
	const memory = await Memory.make();
	try {
		const lamp = await lampConflict(memory);
		const glands = await supersededGlands(memory);
		await fewProposals(memory);
		await memory.cli("index", "--wait");
		await graph(memory);
		await memory.serve();
		const given = { address: memory.address, token: memory.token };
		const stage = await Stage.open(memory.vault, { theme: "light", width: 1320, height: 820 }, given);
		const { page } = stage;
		const shoot = async (name: string): Promise<void> => {
			for (const theme of ["light", "dark"] as const) {
				await stage.theme(theme);
				await page.waitForTimeout(200);
				await page.screenshot({ path: join(OUT, `${name}-${theme}.png`) });
			}
			await stage.theme("light");
		};
		await page.locator(".vaultsync-bar-text").getByText("1 conflict").waitFor();
		await stage.note(lamp.path);
		await stage.run("show-status");
		await page.getByText("Last run").waitFor();
		await shoot("status");

		await stage.run("show-recall");
		await page.getByRole("searchbox", { name: "Recall" }).fill("berth lamp");
		await page.locator(".vaultsync-hit").first().waitFor();
		await page.keyboard.press("Enter");
		await page.getByText("Running semantic search").waitFor({ state: "detached" });
		await page.waitForTimeout(500);
		await page.locator(".vaultsync-pick").nth(1).click();
		await shoot("recall");

		await stage.run("show-context");
		await page.getByRole("searchbox", { name: "Question for the pack" }).fill("get the pier ready for the season");
		await page.keyboard.press("Enter");
		await page.locator(".vaultsync-bar-shares").waitFor();
		await page.waitForTimeout(800);
		await shoot("context");

		await stage.note(glands.path);
		await stage.run("show-note");
		await page.getByText("Supersession").waitFor();
		await shoot("note-chain");
		await stage.note(lamp.path);
		await page.locator(".vaultsync-note-title", { hasText: "Mend the lamp" }).waitFor();
		await page.waitForTimeout(300);
		await shoot("note");

		await page.getByRole("button", { name: "Compare versions" }).click();
		await page.getByRole("dialog").getByRole("table").first().waitFor();
		await shoot("compare");
		await page.keyboard.press("Escape");

		await stage.note("Inbox/Ideas from the ferry.md");
		await stage.edit();
		await stage.run("show-related");
		await page.getByLabel("Editor").press("Control+End");
		await page.keyboard.type("\n\nHang the tide table where people wait for the ferry, beside the touch screen that nobody can use with wet gloves.");
		await page.locator(".vaultsync-view:visible").getByRole("button", { name: "Test with wet gloves" }).waitFor();
		await shoot("related");
		await page.getByLabel("Editor").press("Control+z");

		await stage.run("show-index");
		await page.getByText("Total facts").waitFor();
		await shoot("index");

		await stage.run("show-conflicts");
		await page.getByRole("button", { name: "Keep all mine" }).waitFor();
		await shoot("conflict");
		await page.getByRole("button", { name: "Merge by hand" }).first().click();
		await page.getByRole("button", { name: "Show the version before" }).first().click();
		await shoot("conflict-merge");

		await stage.run("show-proposals");
		await page.locator(".vaultsync-proposal").nth(1).waitFor();
		await shoot("proposals");
		await page.locator(".vaultsync-proposal-head", { hasText: "Better title" }).first().click();
		await shoot("proposals-title");

		await page.evaluate(() => window.running.app.setting.open());
		await page.evaluate(() => window.running.app.setting.openTabById("vaultsync"));
		await shoot("settings");
		await page.keyboard.press("Escape");
		await page.evaluate(() => window.running.app.setting.close());
		await stage.run("show-conflicts");
		await page.getByRole("button", { name: "Cancel" }).click();
		await page.getByRole("button", { name: "Hide the version before" }).click();

		await page.evaluate(() => {
			document.body.createEl("style", { text: ".mod-root { display: none !important } .mod-left-split, .workspace-ribbon { display: none !important } .mod-right-split { width: 100% !important }" });
		});
		await page.setViewportSize({ width: 300, height: 760 });
		for (const name of ["status", "recall", "context", "note", "related"] as const) {
			await stage.run(`show-${name}`);
			await page.waitForTimeout(300);
			await page.screenshot({ path: join(OUT, `narrow-${name}.png`) });
		}
		await page.evaluate(() => {
			document.body.createEl("style", { text: ".mod-root { display: flex !important } .mod-right-split { display: none !important }" });
		});
		await page.screenshot({ path: join(OUT, "narrow-conflict.png") });
		await stage.run("show-proposals");
		await page.screenshot({ path: join(OUT, "narrow-proposals.png") });
		await stage.run("show-conflicts");
		await memory.stop();
		await page.getByText("Try again").first().waitFor({ state: "attached" });
		await page.screenshot({ path: join(OUT, "narrow-conflict-off.png") });
		await stage.close();
		await phone(memory.vault);
		console.log(`pictures: in ${OUT}`);
	} finally {
		await memory.remove();
	}
});

/** The page of the graph: all of it, and a node with its links, also on a phone. */
async function graph(memory: Memory): Promise<void> {
	const file = join(memory.vault, "..", "graph.html");
	await memory.cli("graph", "export", file);
	const browser = await chromium.launch({ executablePath: browserPath ?? "", args: FLAGS, chromiumSandbox: false });
	for (const [name, look] of [["", { viewport: { width: 1320, height: 820 } }], ["-phone", { viewport: { width: 375, height: 720 }, hasTouch: true, isMobile: true }]] as const) {
		for (const colorScheme of ["light", "dark"] as const) {
			const page = await browser.newPage({ ...look, colorScheme });
			await page.goto(`file://${file}`);
			await page.locator("#summary").getByText(/links\.$/).waitFor();
			await page.waitForTimeout(200);
			await page.screenshot({ path: join(OUT, `graph${name}-${colorScheme}.png`) });
			await page.locator("canvas").press("n");
			await page.waitForTimeout(200);
			await page.screenshot({ path: join(OUT, `graph${name}-node-${colorScheme}.png`) });
			await page.close();
		}
	}
	await browser.close();
}

/** The two views of a phone. */
async function phone(vault: string): Promise<void> {
	const stage = await Stage.phone(vault, "light");
	const { page } = stage;
	for (const view of ["conflicts", "proposals"] as const) {
		await stage.run(`show-${view}`);
		await page.getByRole("list", { name: `Memory ${view}` }).locator(".vaultsync-proposal-head").first().click();
		await page.locator(".vaultsync-review-text:visible").waitFor();
		for (const theme of ["light", "dark"] as const) {
			await stage.theme(theme);
			await page.waitForTimeout(200);
			await page.screenshot({ path: join(OUT, `phone-${view}-${theme}.png`) });
		}
	}
	await stage.close();
}
