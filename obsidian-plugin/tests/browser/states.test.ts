/** States that a daemon is seldom in: slow, of another version, of another vault, with thousands of things. */

import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { inBrowser } from "./ready";
import { ScriptedBridge, VAULT_ID } from "./scripted";
import { Stage, strike, type Look } from "./stage";

const WIDE: Look = { theme: "light", width: 1280, height: 800 };
const FACT = {
	id: "0193f6c2-0000-7000-8000-000000000012", type: "fact", title: "Berths", content: "Berths: 42.",
	scope: "public", createdAt: "2026-01-01T00:00:00Z", path: "Berths.md", revision: "1",
};
const SECOND = { ...FACT, id: "0193f6c2-0000-7000-8000-000000000013", title: "Gates", path: "Gates.md" };
const RELATED = { backlinks: [], related: [], chain: [], signals: {}, canvases: [] };
const CHANGE = { run: "0193f6c2-0000-7000-8000-000000000013", at: "2026-02-14T13:45:00Z", side: "store", actor: "indy", field: "title", before: "A", after: "B" };
const AWAY = { error: { kind: "StoreUnavailableError", message: "the store is away", hint: "start it" } };

interface Conflict {
	id: string;
	fields: Record<string, unknown>[];
}

inBrowser("in a rare state", () => {
	let bridge: ScriptedBridge;
	let stage: Stage;

	beforeAll(async () => {
		bridge = await ScriptedBridge.start(
			Object.fromEntries([FACT, SECOND].map(({ id, title, content, path }) => [path, `---\nid: ${id}\n---\n# ${title}\n\n${content}\n`])),
		);
		for (const fact of [FACT, SECOND]) {
			bridge.tells(`GET /v1/facts/${fact.id}`, fact);
			bridge.tells(`GET /v1/facts/${fact.id}/history`, { history: [CHANGE] });
			bridge.tells(`GET /v1/facts/${fact.id}/related`, RELATED);
		}
		stage = await Stage.open(bridge.vault, WIDE, bridge);
		await stage.says("1 conflict");
	});

	afterAll(() => strike(stage, bridge));

	beforeEach(async () => {
		await stage.page.locator(".notice").evaluateAll((all) => {
			for (const each of all) each.remove();
		});
	});

	const status = (more: object = {}): object => ({ ...bridge.golden("GET /v1/status"), vault_id: VAULT_ID, ...more });

	function conflict(id: string): Conflict {
		const [first] = bridge.golden("GET /v1/conflicts")["conflicts"] as [Conflict];
		return { ...first, id, fields: [...first.fields, { field: "title", base: "Berths", vault: "Berths, counted", store: "Berths 2026" }] };
	}

	async function focused(): Promise<string> {
		return stage.page.evaluate(() => document.activeElement?.closest("[data-key]")?.getAttribute("data-key") ?? document.activeElement?.id ?? "");
	}

	/** What an answer waits for until it is opened. */
	function gate(): { opened: Promise<void>; open: () => void } {
		let open = (): void => undefined;
		const opened = new Promise<void>((done) => (open = done));
		return { opened, open: () => open() };
	}

	/** Reconnect, as after a change of the settings. */
	async function again(): Promise<void> {
		await stage.page.evaluate(() => (window.running.plugin as unknown as { saveSettings(anew: boolean): Promise<void> }).saveSettings(true));
	}

	test("a text is merged in the field whose button was pressed, and the cursor stays where it is when something happens", async () => {
		const { page } = stage;
		bridge.tells("GET /v1/conflicts", { conflicts: [conflict("0123456789abcdef")], copies: [] });
		await stage.run("show-conflicts");
		await page.getByRole("button", { name: "Merge by hand" }).first().waitFor();
		expect(await page.locator(".vaultsync-banner:visible").count()).toBe(0);
		await page.getByRole("button", { name: "Merge by hand" }).first().click();
		await page.getByRole("button", { name: "Merge by hand" }).click();
		const area = page.locator("#vaultsync-merge-0123456789abcdef-title");
		expect(await area.evaluate((el) => el === document.activeElement)).toBe(true);
		await area.fill("one three");
		await area.evaluate((el: HTMLTextAreaElement) => el.setSelectionRange(3, 3));
		bridge.tells("GET /v1/conflicts", { conflicts: [conflict("0123456789abcdef"), conflict("1123456789abcdef")], copies: [] });
		bridge.event("pass", {});
		await page.locator(".vaultsync-conflict").nth(1).waitFor();
		await page.keyboard.type(" two");
		expect(await area.inputValue()).toBe("one two three");
	});

	test("a text being merged outlives its view, and its conflict", async () => {
		const { page } = stage;
		await page.evaluate(async () => {
			const [leaf] = window.running.app.workspace.getLeavesOfType("vaultsync-conflicts");
			await leaf?.setViewState({ type: "empty" });
		});
		await stage.run("show-conflicts");
		await expect.poll(() => page.locator("#vaultsync-merge-0123456789abcdef-title").inputValue()).toBe("one two three");
		bridge.tells("GET /v1/conflicts", { conflicts: [], copies: [] });
		bridge.event("pass", {});
		const left = page.locator(".vaultsync-conflict:visible", { hasText: "one two three" });
		await left.getByText("was resolved elsewhere").waitFor();
		await left.getByRole("button", { name: "Copy" }).click();
		expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("one two three");
		for (let left = 2; left > 0; left--) await page.getByRole("button", { name: "Discard" }).first().click();
		await page.getByText("No conflicts").waitFor();
	});

	test("a note that is opened leaves the conflicts and the proposals open", async () => {
		for (const view of ["conflicts", "proposals"] as const) {
			await stage.run(`show-${view}`);
			await stage.page.evaluate(async () => {
				const { app } = window.running;
				const file = app.vault.getFileByPath("Berths.md");
				if (file) await app.workspace.getLeaf(false).openFile(file);
			});
			expect(await stage.page.evaluate((type) => window.running.app.workspace.getLeavesOfType(type).length, `vaultsync-${view}`)).toBe(1);
		}
	});

	test("of a thousand conflicts some are drawn, and more on demand", async () => {
		const { page } = stage;
		const all = Array.from({ length: 1000 }, (_, at) => conflict(at.toString(16).padStart(16, "0")));
		bridge.tells("GET /v1/conflicts", { conflicts: all, copies: [] });
		await stage.run("show-conflicts");
		bridge.event("pass", {});
		await page.getByText("1,000 notes that you and an agent changed").waitFor();
		expect(await page.locator(".vaultsync-conflict").count()).toBe(30);
		await page.getByRole("button", { name: "Show more (970)" }).click();
		expect(await page.locator(".vaultsync-conflict").count()).toBe(60);
		expect(await focused()).toBe("more");
	});

	test("of many conflicts only the one that changed is drawn again", async () => {
		const { page } = stage;
		const shown = page.locator(".vaultsync-conflict");
		const [first, other] = [await shown.nth(0).elementHandle(), await shown.nth(1).elementHandle()];
		const toggle = page.getByRole("button", { name: "Show the version before" }).first();
		await toggle.press("Enter");
		await page.locator(".vaultsync-base pre[tabindex='0']").waitFor();
		expect(await focused()).toBe("base");
		expect([await first.evaluate((el) => el.isConnected), await other.evaluate((el) => el.isConnected)]).toEqual([false, true]);
		await page.keyboard.press("Enter");
		await page.locator(".vaultsync-base").waitFor({ state: "detached" });
	});

	test("a long history and many links are drawn in part, and more on demand", async () => {
		const { page } = stage;
		const [history, backlinks] = [120, 70].map((count) => Array.from({ length: count }, (_, at) => ({ ...CHANGE, run: `run ${at}`, id: `${at}`, title: `Note ${at}`, path: null })));
		bridge.tells(`GET /v1/facts/${FACT.id}/history`, { history });
		bridge.tells(`GET /v1/facts/${FACT.id}/related`, { ...RELATED, backlinks });
		await stage.note("Berths.md");
		await stage.run("show-note");
		const counts = async (): Promise<number[]> => Promise.all([".vaultsync-history > li[data-key]", "[data-key='Links to this note'] li:not(.vaultsync-more)"].map((rows) => page.locator(rows).count()));
		await expect.poll(counts).toEqual([50, 50]);
		await page.getByRole("button", { name: "Show more (20)" }).press("Enter");
		await expect.poll(counts).toEqual([100, 70]);
		bridge.tells(`GET /v1/facts/${FACT.id}/history`, { history: [CHANGE] });
		bridge.tells(`GET /v1/facts/${FACT.id}/related`, RELATED);
	});

	test("a question has the keyboard, on the button that does nothing", async () => {
		const { page } = stage;
		await stage.run("forget");
		await page.getByRole("dialog", { name: "Forget this note?" }).waitFor();
		expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Cancel");
		await page.keyboard.press("Escape");
		await page.getByRole("dialog").waitFor({ state: "detached" });
	});

	test("nothing is wider than a pane of 200 pixels, and words stay whole", async () => {
		const { page } = stage;
		const scope = "project-tidebell-north-harbour-and-south-quay";
		bridge.tells(`GET /v1/facts/${FACT.id}`, { ...FACT, scope });
		bridge.event("state", status({ conflicts: 500, proposals: 2000 }));
		for (const view of ["note", "status", "proposals", "conflicts"]) {
			await stage.run(`show-${view}`);
			await page.waitForTimeout(300);
			const faults = await page.evaluate((name) => {
				const [leaf] = window.running.app.workspace.getLeavesOfType(`vaultsync-${name}`);
				const el = leaf?.view.containerEl.querySelector<HTMLElement>(".vaultsync-view");
				if (!leaf || !el) return ["no view"];
				const { containerEl } = leaf.view;
				containerEl.style.cssText = "display: flex; position: fixed; inset: 0 auto 0 0; width: 200px; z-index: 99";
				const found = el.scrollWidth > 200 ? [`${el.scrollWidth} wide`] : [];
				for (const title of containerEl.querySelectorAll<HTMLElement>(".vaultsync-hero-title, .vaultsync-proposal-title")) {
					if (title.offsetWidth < 100) found.push(`${title.innerText} on ${title.offsetWidth}`);
				}
				for (const margin of containerEl.querySelectorAll<HTMLElement>("td.vaultsync-line[data-name=Agent]")) {
					if (margin.scrollWidth > margin.clientWidth) found.push("Agent is cut");
				}
				containerEl.style.cssText = "";
				return found;
			}, view);
			expect([view, ...faults]).toEqual([view]);
		}
		bridge.tells(`GET /v1/facts/${FACT.id}`, FACT);
	});

	test("thousands of proposals are walked by the keyboard beyond those that are drawn", async () => {
		const { page } = stage;
		const [first] = bridge.golden("GET /v1/proposals")["proposals"] as [object];
		bridge.tells("GET /v1/proposals", { proposals: Array.from({ length: 3000 }, (_, at) => ({ ...first, id: at.toString(16).padStart(16, "0"), title: `Rename ${at}` })) });
		await stage.run("show-proposals");
		bridge.event("pass", {});
		await page.getByText("3,000 proposals wait").waitFor();
		expect(await page.locator(".vaultsync-proposal").count()).toBe(100);
		await page.locator(".vaultsync-proposal-head").nth(99).click();
		await page.keyboard.press("j");
		await page.locator("[data-current=true]", { hasText: "Rename 100" }).waitFor();
		expect(await page.locator("[data-current=true]").evaluate((el) => el === document.activeElement)).toBe(true);
	});

	test("what fails for the same reason is told once", async () => {
		const { page } = stage;
		for (let at = 0; at < 5; at++) bridge.tells(`POST /v1/proposals/${(100 + at).toString(16).padStart(16, "0")}/accept`, AWAY, { status: 503 });
		const before = bridge.asked.length;
		for (let at = 0; at < 5; at++) await page.keyboard.press("a");
		await expect.poll(() => bridge.asked.slice(before).filter(({ path }) => path.endsWith("/accept")).length).toBe(5);
		await page.locator(".notice", { hasText: "the store is away" }).first().waitFor();
		await page.waitForTimeout(200);
		// It is gone after some seconds.
		expect(await page.locator(".notice").count()).toBeLessThan(2);
		await page.getByText("3,000 proposals wait").waitFor();
	});

	test("the keyboard goes on with the lines that it unfolded", async () => {
		const { page } = stage;
		const lines = Array.from({ length: 30 }, (_, at) => `line ${at}`);
		const fields = [{ field: "content", base: "", vault: lines.join("\n"), store: lines.join("\n").replace("line 0", "Line 0") }];
		bridge.tells("GET /v1/conflicts", { conflicts: [{ ...conflict("0123456789abcdef"), fields }], copies: [] });
		await stage.run("show-conflicts");
		bridge.event("pass", {});
		await page.getByRole("button", { name: "Show 26 equal lines" }).press("Enter");
		expect(await page.evaluate(() => document.activeElement?.textContent)).toContain("line 4");
	});

	test("the index is drawn again only when it changed, and keeps the focus", async () => {
		const { page } = stage;
		bridge.tells("GET /v1/index", { files: [{ name: "vault-index.md", bytes: 10 }, { name: "by-entity.md", bytes: 1000 }] });
		bridge.tells("GET /v1/index/vault-index.md", { name: "vault-index.md", text: "# Index\n\n- [[Berths]]\n" });
		await stage.run("show-index");
		await page.getByRole("tab", { name: "By entity, 1.0 kB" }).waitFor();
		await page.getByRole("tab", { name: "Vault index" }).focus();
		const before = await page.locator(".vaultsync-index").elementHandle();
		const asked = bridge.count("GET /v1/index/vault-index.md");
		bridge.event("state", status({ facts: 7 }));
		await expect.poll(() => bridge.count("GET /v1/index/vault-index.md")).toBeGreaterThan(asked);
		await page.waitForTimeout(100);
		expect(await before.evaluate((el) => el.isConnected)).toBe(true);
		bridge.tells("GET /v1/index/vault-index.md", { name: "vault-index.md", text: "# Index\n\n- [[Gates]]\n" });
		bridge.event("state", status({ facts: 8 }));
		await page.locator(".vaultsync-index").getByText("Gates").waitFor();
		expect(await focused()).toBe("vault-index.md");
	});

	test("a view that nobody sees asks for nothing until it is seen", async () => {
		await stage.run("show-conflicts");
		await stage.page.waitForTimeout(200);
		await stage.idle();
		const [before, conflicts] = [bridge.count("GET /v1/index"), bridge.count("GET /v1/conflicts")];
		bridge.event("state", status({ facts: 9 }));
		await expect.poll(() => bridge.count("GET /v1/conflicts")).toBeGreaterThan(conflicts);
		await stage.page.waitForTimeout(300);
		expect(bridge.count("GET /v1/index")).toBe(before);
		await stage.run("show-index");
		await expect.poll(() => bridge.count("GET /v1/index")).toBe(before + 1);
	});

	test("hits keep the focus, and a pack what is unfolded, when something happens", async () => {
		const { page } = stage;
		await stage.run("show-recall");
		await page.getByRole("searchbox", { name: "Recall" }).fill("sqlite");
		await page.keyboard.press("Enter");
		await page.getByText("Running semantic search").waitFor({ state: "detached" });
		await page.keyboard.press("ArrowDown");
		const recall = bridge.golden("POST /v1/recall");
		bridge.tells("POST /v1/recall", { ...recall, nothing_known: "x", hits: [...(recall["hits"] as object[]), { ...(recall["hits"] as object[])[0], id: "second" }] });
		bridge.event("pass", {});
		await page.locator(".vaultsync-hit").nth(1).waitFor();
		expect(await focused()).toBe("open");

		await stage.run("show-context");
		await page.getByRole("searchbox", { name: "Question for the pack" }).fill("sqlite");
		await page.keyboard.press("Enter");
		await page.getByText("Text of the pack").click();
		await page.getByText(/^\d+ facts? packed, \d+ left out\.$/).waitFor();
		const packed = bridge.count("POST /v1/context");
		bridge.tells("POST /v1/context", { ...bridge.golden("POST /v1/context"), tokens: 7 });
		bridge.event("pass", {});
		await page.getByText(/^7 of /).waitFor();
		expect(bridge.count("POST /v1/context")).toBe(packed + 1);
		expect(await page.locator("details[data-key=text]").getAttribute("open")).not.toBeNull();
		expect(await focused()).toBe("summary");
		bridge.tells("POST /v1/context", { ...bridge.golden("POST /v1/context"), items: [], nothing_known: "The memory knows nothing about this." });
		bridge.event("pass", {});
		await page.getByText("The memory knows nothing about this.").waitFor();
		expect(await page.getByRole("button", { name: "Copy" }).count()).toBe(0);
	});

	test("the budget that was chosen last is kept", async () => {
		await stage.page.getByRole("slider", { name: "Budget" }).press("ArrowRight");
		await expect.poll(() => stage.page.evaluate(() => (window.running.plugin as unknown as { saved: { budget: number } }).saved.budget)).toBe(4500);
	});

	test("a link is inserted where the cursor is seen, not into a note that is only read", async () => {
		const { page } = stage;
		await stage.note("Berths.md");
		bridge.tells("POST /v1/recall", { ...bridge.golden("POST /v1/recall"), hits: [{ ...(bridge.golden("POST /v1/recall")["hits"] as object[])[0], path: "Gates.md" }] });
		await stage.run("show-recall");
		await page.getByRole("searchbox", { name: "Recall" }).fill("gates");
		await page.locator(".vaultsync-hit:visible", { hasText: "Gates.md" }).getByRole("button", { name: "Insert a link into the note" }).click();
		await page.getByText("Open the note to insert the link into, and edit it.").waitFor();
		expect(await page.getByLabel("Editor", { exact: true }).first().inputValue()).toMatch(/^---\n/);
	});

	test("what was typed stays when the daemon does not take it", async () => {
		const { page } = stage;
		bridge.tells(`POST /v1/facts/${FACT.id}/supersede`, AWAY, { status: 503 });
		await stage.note("Berths.md");
		await stage.run("supersede");
		const dialog = page.getByRole("dialog");
		await dialog.getByRole("textbox").fill("What took ten minutes to write.");
		await dialog.getByRole("button", { name: "Supersede" }).click();
		await page.getByText("the store is away").first().waitFor();
		expect(await dialog.getByRole("textbox").inputValue()).toBe("What took ten minutes to write.");
		bridge.tells(`POST /v1/facts/${FACT.id}/supersede`, SECOND);
		await dialog.getByRole("button", { name: "Supersede" }).click();
		await dialog.waitFor({ state: "detached" });
	});

	test("a note that takes its time is not shown by what another one says", async () => {
		const { page } = stage;
		await stage.note("Berths.md");
		await stage.run("show-note");
		await page.locator(".vaultsync-note-title", { hasText: "Berths" }).waitFor();
		const wait = gate();
		bridge.tells(`GET /v1/facts/${SECOND.id}`, SECOND, { after: wait.opened });
		await stage.note("Gates.md");
		await page.getByText("Loading…").waitFor();
		expect(await page.locator(".vaultsync-note-title").count()).toBe(0);
		wait.open();
		await page.locator(".vaultsync-note-title", { hasText: "Gates" }).waitFor();
		expect(await page.getByText("Loading…").count()).toBe(0);
	});

	test("a sync that takes its time says so, and a second press starts no other", async () => {
		const { page } = stage;
		const wait = gate();
		bridge.tells("POST /v1/sync", bridge.golden("POST /v1/sync"), { after: wait.opened });
		await stage.run("show-status");
		const before = bridge.count("POST /v1/sync");
		await page.getByRole("button", { name: "Sync now" }).click();
		await page.getByRole("button", { name: "Sync now" }).click();
		await page.getByText("Syncing…").waitFor();
		wait.open();
		await page.getByText("Synced:").waitFor();
		expect(await page.getByText("Syncing…").count()).toBe(0);
		expect(bridge.count("POST /v1/sync")).toBe(before + 1);
	});

	test("the daemon of another vault is asked for its status, and for nothing else", async () => {
		bridge.tells("GET /v1/status", status({ vault_id: "another" }));
		await again();
		await stage.says("other vault");
		const before = bridge.asked.length;
		expect(await stage.cli("vaultsync:remember", { text: "A secret of this vault." })).toBe("Error: The daemon at this address serves another vault.");
		await stage.run("sync-now");
		await stage.page.locator(".notice", { hasText: "serves another vault" }).first().waitFor();
		expect(new Set(bridge.asked.slice(before).map(({ path }) => path))).toEqual(new Set(["/v1/status"]));
	});

	test("a daemon of another version, or with trouble of its own, is told from one that is off", async () => {
		const { page } = stage;
		bridge.tells("GET /v1/status", { facts: 1 });
		await again();
		await page.locator(".vaultsync-banner:visible", { hasText: "this version of the plugin cannot read" }).first().waitFor();
		bridge.tells("GET /v1/status", AWAY, { status: 503 });
		await again();
		await page.locator(".vaultsync-banner:visible", { hasText: "start it" }).first().waitFor();
	});

	test("the banner keeps the focus while the daemon is looked for", async () => {
		const { page } = stage;
		await page.locator(".vaultsync-banner:visible").first().getByRole("button", { name: "Try again" }).focus();
		const before = bridge.count("GET /v1/status");
		await again();
		await expect.poll(() => bridge.count("GET /v1/status")).toBeGreaterThan(before);
		await page.waitForTimeout(200);
		expect(await focused()).toBe("Try again");
		bridge.tells("GET /v1/status", status());
		await page.keyboard.press("Enter");
		await stage.says("1 conflict");
	});

	test("the token is not sent to the addresses that appear while one is typed", async () => {
		const { page } = stage;
		const before = bridge.count("GET /v1/status");
		await page.evaluate(() => {
			window.running.app.setting.open();
			window.running.app.setting.openTabById("vaultsync");
		});
		const address = page.locator(".setting-item", { hasText: "Address" }).getByRole("textbox");
		const { address: whole } = bridge;
		// Typed at once, because a user who pauses has typed an address.
		const seen = await address.evaluate((el: HTMLInputElement, typed) => {
			const { settings } = window.running.plugin as unknown as { settings: { address: string } };
			return Array.from({ length: typed.length + 1 }, (_, end) => {
				el.value = typed.slice(0, end);
				el.dispatchEvent(new Event("input", { bubbles: true }));
				return settings.address;
			});
		}, `${whole}/`);
		expect(new Set(seen)).toEqual(new Set([whole]));
		const saved = (): Promise<string> => page.evaluate(() => (window.running.plugin as unknown as { settings: { address: string } }).settings.address);
		await expect.poll(saved).toBe(`${whole}/`);
		await stage.says("1 conflict");
		expect(bridge.count("GET /v1/status")).toBeGreaterThan(before);
		await page.keyboard.press("Escape");
	});

	test("what is unloaded hears, asks and keeps nothing", async () => {
		for (const view of ["status", "conflicts", "proposals", "recall", "context", "related", "note", "index"]) await stage.run(`show-${view}`);
		await stage.page.waitForTimeout(300);
		await stage.idle();
		const listeners = await stage.page.evaluate(() => {
			const { app, plugin } = window.running;
			for (const [type] of app.workspace.makers) for (const leaf of app.workspace.getLeavesOfType(type)) leaf.view.unload();
			plugin.unload();
			return (plugin as unknown as { listeners: Set<unknown> }).listeners.size;
		});
		await expect.poll(() => bridge.listening).toBe(0);
		const before = bridge.asked.length;
		await stage.page.evaluate(() => window.dispatchEvent(new Event("focus")));
		await stage.note("Gates.md");
		await stage.page.waitForTimeout(3000);
		expect(bridge.asked.slice(before)).toEqual([]);
		expect(listeners).toBe(0);
	});
});
