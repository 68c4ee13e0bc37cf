import { afterAll, beforeAll, expect, test } from "vitest";
import { Memory, type Fact } from "./memory";
import { inBrowser } from "./ready";
import { Stage, strike } from "./stage";

inBrowser("notes", () => {
	let memory: Memory;
	let stage: Stage;
	let task: Fact;

	beforeAll(async () => {
		memory = await Memory.make();
		task = await memory.remember("Oil the hinge.\n\nThe can is in the shed.", "--title", "Oil the hinge", "--type", "task", "--scope", "project-tidebell");
		await memory.serve();
		stage = await Stage.open(memory.vault, { theme: "light", width: 1280, height: 800 }, memory);
		await stage.says("in sync");
	});

	afterAll(() => strike(stage, memory));

	test("an agent's change of an open note comes through the app", async () => {
		const { page } = stage;
		await stage.note(task.path);
		// The daemon writes the file itself when the app takes two seconds, and does not ask it for a while.
		for (let pier = 1; !stage.written().includes(task.path); pier++) {
			await memory.call("PATCH", `/v1/facts/${task.id}`, { content: `Oil the hinge.\n\nThe can is on pier ${pier}.` });
			await page.locator(".markdown-page").getByText(`The can is on pier ${pier}.`).waitFor();
			expect(await memory.read(task.path)).toContain(`on pier ${pier}.`);
		}
	});

	test("text that is not saved is never overwritten, and both changes meet when it is", async () => {
		const { page } = stage;
		await stage.edit();
		const editor = page.getByLabel("Editor");
		const typed = (await editor.inputValue()).replace("Oil the hinge.\n\n", "Oil the hinge, both sides.\n\n");
		await editor.fill(typed);
		await memory.call("PATCH", `/v1/facts/${task.id}`, { content: "Oil the hinge.\n\nThe can is in Oskar's boat." });
		expect(await editor.inputValue()).toBe(typed);
		await expect.poll(() => memory.read(task.path)).toContain("both sides");
		await stage.run("sync-now");
		await expect.poll(() => memory.read(task.path)).toContain("Oskar's boat");
		expect(await memory.read(task.path)).toContain("both sides");
		expect((await memory.fact(task.id)).content).toBe("Oil the hinge, both sides.\n\nThe can is in Oskar's boat.");
	});

	test("the note view tells who changed what, from which side", async () => {
		const { page } = stage;
		await stage.run("show-note");
		const history = page.locator(".vaultsync-history");
		await history.getByText("Oskar's boat").first().waitFor();
		expect(await history.innerText()).toContain("in the note");
	});

	test("what a run tells at once is fetched once", async () => {
		const { page } = stage;
		const asked = await page.evaluate(async () => {
			const plugin = window.running.plugin as unknown as { tell: (what: string) => void; bridge: { history: (id: string) => Promise<unknown> } };
			const { history } = plugin.bridge;
			let count = 0;
			plugin.bridge.history = (id) => {
				count++;
				return history(id);
			};
			const pause = (milliseconds: number): Promise<unknown> => new Promise((done) => window.setTimeout(done, milliseconds));
			const tell = plugin.tell.bind(plugin);
			plugin.tell = () => undefined;
			// What the sync before told, and the note that it saved, may still lead to a fetch.
			for (let before = -1; before !== count; ) {
				before = count;
				await pause(3000);
			}
			count = 0;
			for (const what of ["line", "pass", "line"]) tell(what);
			await pause(500);
			Object.assign(plugin, { tell });
			plugin.bridge.history = history;
			return count;
		});
		expect(asked).toBe(1);
	});

	test("a note with an id of another program is no fact, even if a fact has that name", async () => {
		const { page } = stage;
		const path = "Inbox/Another hinge.md";
		await memory.write(path, "---\nid: Oil the hinge\n---\n\nNot in the memory.\n");
		await stage.knows(path);
		await stage.note(path);
		await page.getByText("Not part of the memory").waitFor();
		await stage.note(task.path);
		await page.locator(".vaultsync-history").getByText("Oskar's boat").first().waitFor();
	});

	test("any two versions are compared, side by side", async () => {
		const { page } = stage;
		await page.getByRole("button", { name: "Compare versions" }).click();
		const dialog = page.getByRole("dialog", { name: "Versions of Oil the hinge" });
		const table = dialog.getByRole("table", { name: "Content: both versions" });
		await table.waitFor();
		expect(await table.innerText()).toContain("The can is in the shed.");
		expect(await table.innerText()).toContain("The can is in Oskar's boat.");
		const versions = await dialog.getByLabel("Older version").locator("option").allInnerTexts();
		expect(versions[0]).toMatch(/^Now: /);
		expect(versions.at(-1)).toBe("Before the first change");
		await dialog.getByLabel("Newer version").selectOption("0");
		await dialog.getByText("The two versions are equal.").waitFor();
		await dialog.getByLabel("Newer version").selectOption("1");
		const first = await dialog.innerText();
		expect(first).not.toContain("Oskar's boat");
		await page.keyboard.press("Escape");
	});

	test("facts related to the paragraph appear while it is written, each with the reason, and not when switched off", async () => {
		const { page } = stage;
		await stage.note("Inbox/Ideas from the ferry.md");
		await stage.edit();
		await stage.run("show-related");
		const editor = page.getByLabel("Editor");
		await editor.press("Control+End");
		await page.keyboard.type("\n\nWe tested the touch screen with wet gloves");
		const hit = page.locator(".vaultsync-view:visible .vaultsync-hit", { has: page.getByRole("button", { name: "Test with wet gloves" }) });
		// A slow machine may ask for the first words while the others are typed.
		await hit.locator(".vaultsync-why", { hasText: "gloves" }).waitFor();
		await page.evaluate(() => Object.assign((window.running.plugin as unknown as { settings: object }).settings, { whileWriting: false }));
		await page.keyboard.type(" once more");
		await page.locator(".vaultsync-view:visible").getByText("Switched off").waitFor();
		await page.evaluate(() => Object.assign((window.running.plugin as unknown as { settings: object }).settings, { whileWriting: true }));
	});

	test("a question waits until none is under way", async () => {
		const { page } = stage;
		const asked: string[] = [];
		page.on("console", (message) => asked.push(message.text()));
		await page.evaluate(() => {
			const { bridge } = window.running.plugin as unknown as { bridge: { recall: (...given: unknown[]) => Promise<unknown>; asking: boolean } };
			const { recall } = bridge;
			bridge.recall = (...given) => {
				console.log(`asked while ${bridge.asking ? "one" : "none"} is under way`);
				return recall(...given);
			};
			// Not by the count: a question of the test before may end in the meantime.
			Object.defineProperty(bridge, "asking", { configurable: true, value: true });
		});
		await page.getByLabel("Editor").press("Control+End");
		await page.keyboard.type("\n\nThe tide table hangs in the harbour office");
		// Neither a pause in typing nor what the daemon tells of the saved note.
		await page.evaluate(() => (window.running.plugin as unknown as { tell: (what: string) => void }).tell("pass"));
		await page.waitForTimeout(1800);
		expect(asked).toEqual([]);
		await page.evaluate(() => delete (window.running.plugin as unknown as { bridge: { asking?: boolean } }).bridge.asking);
		await expect.poll(() => asked).toEqual(["asked while none is under way"]);
	});

	test("an answer that another update overtakes is asked for again", async () => {
		const { page } = stage;
		const asked: string[] = [];
		page.on("console", (message) => asked.push(message.text()));
		await page.evaluate(() => {
			const { bridge } = window.running.plugin as unknown as { bridge: { recall: (...given: unknown[]) => Promise<unknown> } };
			const { recall } = bridge;
			bridge.recall = async (...given) => {
				console.log("overtaken");
				await new Promise((done) => window.setTimeout(done, 500));
				return recall(...given);
			};
		});
		await page.getByLabel("Editor").press("Control+End");
		await page.keyboard.type("\n\nWet gloves on the touch screen");
		await expect.poll(() => asked).toContain("overtaken");
		await page.evaluate(() => {
			const { app } = window.running.plugin as unknown as { app: { workspace: { getLeavesOfType: (type: string) => { view: object }[] } } };
			for (const { view } of app.workspace.getLeavesOfType("vaultsync-related")) void (view as { refresh: () => Promise<void> }).refresh();
		});
		await page.locator(".vaultsync-view:visible .vaultsync-hit", { has: page.getByRole("button", { name: "Test with wet gloves" }) }).waitFor();
	});

	test("Obsidian's own command line remembers, recalls, packs, syncs and lists proposals", async () => {
		const made = await stage.cli("vaultsync:remember", { text: "The crane hook is painted yellow.", type: "fact" });
		expect(made).toMatch(/^Remembered: The crane hook is painted yellow/);
		expect(await stage.cli("vaultsync:sync")).toMatch(/^Synced: /);
		expect(await stage.cli("vaultsync:recall", { query: "crane hook painted yellow" })).toContain("The crane hook is painted yellow");
		const found = JSON.parse(await stage.cli("vaultsync:recall", { query: "crane hook", limit: "2", format: "json" })) as { hits: unknown[] };
		expect(found.hits.length).toBeLessThanOrEqual(2);
		expect(await stage.cli("vaultsync:context", { query: "which colour is the crane hook?", budget: "500" })).toContain("yellow");
		expect(await stage.cli("vaultsync:proposals")).toBe("No proposals.");
		expect(await stage.cli("vaultsync:proposals", { accept: "0123" })).toMatch(/^Error: no proposal 0123/);
	});

	test("a run is taken back", async () => {
		const { page } = stage;
		await stage.note(task.path);
		await stage.run("show-note");
		const before = (await memory.fact(task.id)).content;
		await memory.call("PATCH", `/v1/facts/${task.id}`, { set: { priority: 4 } });
		const newest = page.locator(".vaultsync-history > li").first();
		await newest.getByText("Priority").waitFor();
		await newest.getByRole("button", { name: /^Undo/ }).click();
		await page.getByRole("dialog").getByRole("button", { name: "Undo", exact: true }).click();
		await page.getByText(/^Undone:/).waitFor();
		expect(await memory.fact(task.id)).toMatchObject({ priority: 2, content: before });
	});

	test("a selection is remembered, as the type that is chosen", async () => {
		const { page } = stage;
		await stage.note("Inbox/Ideas from the ferry.md");
		await stage.edit();
		await page.getByLabel("Editor").evaluate((area: HTMLTextAreaElement) => {
			area.value = "Hang a map of the tides in the ferry.";
			area.select();
		});
		await stage.run("remember-selection");
		const dialog = page.getByRole("dialog", { name: "Remember" });
		expect(await dialog.getByLabel("What to remember").inputValue()).toBe("Hang a map of the tides in the ferry.");
		await dialog.locator("select").first().selectOption("decision");
		await dialog.locator("select").last().selectOption("team-core");
		await page.keyboard.press("Control+Enter");
		await page.getByText("Remembered: Hang a map of the tides").waitFor();
		await stage.run("sync-now");
		const made = async (): Promise<string> => {
			const { facts } = (await memory.cli("list", "--type", "decision", "--limit", "100")) as { facts: Fact[] };
			return facts.find(({ content }) => content.startsWith("Hang a map"))?.path ?? "";
		};
		await expect.poll(made).toMatch(/^team-core\/decisions\//);
		await stage.knows(await made());
	});

	test("a foreign note is adopted by one line", async () => {
		const { page } = stage;
		const path = "Inbox/Quote for two solar panels.md";
		const before = await memory.read(path);
		await stage.note(path);
		await page.getByText("Not part of the memory").waitFor();
		await page.getByRole("button", { name: "Adopt this note" }).click();
		await expect.poll(() => memory.read(path)).toMatch(/\nid: [0-9a-f-]{36}\n/);
		const after = await memory.read(path);
		expect(after.replace(/id: [0-9a-f-]{36}\n/, "").replace(/^---\n---\n\n/, "")).toBe(before);
		await page.locator(".vaultsync-note-title", { hasText: "Quote" }).waitFor();
	});

	test("type and tier change by commands", async () => {
		const { page } = stage;
		await stage.note(task.path);
		await stage.run("change-tier");
		await page.locator(".suggestion-item", { hasText: "Critical" }).click();
		await expect.poll(async () => ((await memory.fact(task.id)) as unknown as { priority: number }).priority).toBe(0);
		await stage.run("change-type");
		await page.locator(".prompt-input").fill("lesson");
		await page.keyboard.press("Enter");
		await expect.poll(async () => ((await memory.fact(task.id)) as unknown as { type: string }).type).toBe("lesson");
	});

	test("a note is superseded, and the chain shows both", async () => {
		const { page } = stage;
		await stage.note((await memory.fact(task.id)).path);
		await stage.run("supersede");
		await page.getByRole("dialog").getByLabel("Supersede this note").fill("The hinge is replaced.");
		await page.keyboard.press("Control+Enter");
		await page.locator(".inline-title", { hasText: "hinge-is-replaced" }).waitFor();
		await page.locator(".vaultsync-chain").getByText("Oil the hinge").waitFor();
	});

	test("a note of another memory is adopted with its own id", async () => {
		const { page } = stage;
		const path = "Inbox/From the other vault.md";
		const text = "---\nid: 019bb16a-0000-7000-8000-00000000abcd\n---\n\nThe ferry has two engines.\n";
		await memory.write(path, text);
		await stage.knows(path);
		await stage.note(path);
		await page.getByText("Its id is of another memory.").waitFor();
		await page.getByRole("button", { name: "Adopt this note" }).click();
		await page.locator(".vaultsync-note-title", { hasText: "other vault" }).waitFor();
		expect(await memory.fact("019bb16a-0000-7000-8000-00000000abcd")).toMatchObject({ content: "The ferry has two engines." });
	});

	test("a note is forgotten after a question, with what was typed last", async () => {
		const { page } = stage;
		const path = await page.evaluate(() => window.running.app.workspace.getActiveFile()?.path ?? "");
		await stage.edit();
		await page.getByLabel("Editor").press("Control+End");
		await page.keyboard.type("\n\nOr is it?");
		await stage.run("forget");
		await page.getByRole("dialog").getByRole("button", { name: "Forget" }).click();
		await page.getByText("Forgotten.").waitFor();
		await expect.poll(() => memory.read(path).then(() => true, () => false)).toBe(false);
		expect(await memory.cli("conflicts")).toMatchObject({ conflicts: [] });
	});

	test("the index that Obsidian hides can be read, and its links lead to notes", async () => {
		const { page } = stage;
		await stage.note("Start here.md");
		await stage.run("show-index");
		await page.getByRole("heading", { name: "Vault Index" }).waitFor();
		await page.getByRole("tab", { name: /^Vault index,/ }).press("ArrowRight");
		await page.locator(".vaultsync-tab[aria-selected=true]", { hasText: "By entity" }).waitFor();
		await page.locator(".vaultsync-index a.internal-link", { hasText: "Oskar Brandvold" }).first().click();
		await page.locator(".inline-title", { hasText: "Oskar Brandvold" }).waitFor();
	});
});
