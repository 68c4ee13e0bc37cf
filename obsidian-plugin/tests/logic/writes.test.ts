/** Writes of the daemon, against a vault in memory. */

import { createHash } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import type { Write } from "../../src/answers";
import { MarkdownView, TFile, type App } from "obsidian";
import { ObsidianVault, sha256, vaultIdIn } from "../../src/app-vault";
import { isNotePath, Writes, type AppVault } from "../../src/writes";

const bytes = (text: string): ArrayBuffer => new TextEncoder().encode(text).buffer;
const sha = (text: string): string => createHash("sha256").update(text).digest("hex");

class FakeVault implements AppVault {
	readonly files = new Map<string, ArrayBuffer>();
	readonly open = new Map<string, string[]>();
	/** Run between the look and the change, once. */
	meanwhile: (() => void) | null = null;
	fails = false;

	put(path: string, text: string): void {
		this.files.set(path, bytes(text));
	}

	text(path: string): string | undefined {
		const found = this.files.get(path);
		return found && new TextDecoder("utf-8", { ignoreBOM: true }).decode(found);
	}

	read = async (path: string): Promise<ArrayBuffer | null> => Promise.resolve(this.files.get(path) ?? null);
	exists = (path: string): boolean => this.files.has(path);
	editors = (path: string): string[] => this.open.get(path) ?? [];
	process = async (path: string, change: (found: string) => string): Promise<void> => {
		this.meanwhile?.();
		this.meanwhile = null;
		if (this.fails) throw new Error("the disk is full");
		this.put(path, change(this.text(path) ?? ""));
		return Promise.resolve();
	};
	rename = async (path: string, to: string): Promise<void> => {
		this.put(to, this.text(path) ?? "");
		this.files.delete(path);
		return Promise.resolve();
	};
}

const NOTE = "public/notes/Lamp.md";
let vault: FakeVault;
let writes: Writes;

const write = (given: Partial<Write>): Write => ({
	write: "w1", action: "modify", path: NOTE, to: null, expect: sha("old\n"), text: "new\n", ...given,
});

beforeEach(() => {
	vault = new FakeVault();
	writes = new Writes(vault, sha256);
	vault.put(NOTE, "old\n");
});

describe("a change of a note", () => {
	test("is applied to the bytes that it names", async () => {
		expect(await writes.apply(write({}))).toEqual({ applied: true, found: sha("old\n"), reason: "" });
		expect(vault.text(NOTE)).toBe("new\n");
	});

	test("is refused when the file has other bytes, which are told", async () => {
		vault.put(NOTE, "mine\n");
		expect(await writes.apply(write({}))).toEqual({ applied: false, found: sha("mine\n"), reason: "changed" });
		expect(vault.text(NOTE)).toBe("mine\n");
	});

	test("never overwrites text that an editor has not saved", async () => {
		vault.open.set(NOTE, ["old\n", "old\nand what I am typing"]);
		const came = await writes.apply(write({}));
		expect(came).toEqual({ applied: false, found: sha("old\nand what I am typing"), reason: "unsaved" });
		expect(vault.text(NOTE)).toBe("old\n");
	});

	test("is refused when a letter is typed between the look and the write", async () => {
		vault.meanwhile = () => vault.open.set(NOTE, ["old\nx"]);
		expect(await writes.apply(write({}))).toMatchObject({ applied: false, reason: "unsaved" });
		expect(vault.text(NOTE)).toBe("old\n");
	});

	test("is refused when the file is saved between the look and the write", async () => {
		vault.meanwhile = () => vault.put(NOTE, "saved meanwhile\n");
		expect(await writes.apply(write({}))).toEqual({ applied: false, found: sha("saved meanwhile\n"), reason: "changed" });
		expect(vault.text(NOTE)).toBe("saved meanwhile\n");
	});

	test("reaches a note with the line ends of Windows, which an editor does not keep", async () => {
		vault.put(NOTE, "old\r\nlines\r\n");
		vault.open.set(NOTE, ["old\nlines\n"]);
		const came = await writes.apply(write({ expect: sha("old\r\nlines\r\n"), text: "new\r\n" }));
		expect(came.applied).toBe(true);
		expect(vault.text(NOTE)).toBe("new\r\n");
	});

	test("reaches a note with a byte order mark, and sees it", async () => {
		vault.put(NOTE, "\uFEFFold\n");
		expect(await writes.apply(write({ expect: sha("\uFEFFold\n"), text: "\uFEFFnew\n" }))).toMatchObject({ applied: true });
	});

	test("that is already there only asks whether an editor has another text", async () => {
		for (const [text, shown] of [["\uFEFFold\n", "old\n"], ["old\r\n", "old\n"]] as const) {
			vault.put(NOTE, text);
			vault.open.set(NOTE, [shown]);
			vault.fails = true;
			const asked = write({ expect: sha(text), text });
			expect(await writes.apply(asked)).toMatchObject({ applied: true });
			vault.open.set(NOTE, [`${shown}typing`]);
			expect(await writes.apply(asked)).toMatchObject({ applied: false, reason: "unsaved" });
		}
	});

	test("reaches a note whose name ends in capitals, or has a space that does not break", async () => {
		const file = Object.assign(new TFile(), { path: "public/De 3 lampes.MD" });
		const view = Object.assign(new (MarkdownView as unknown as new () => MarkdownView)(), { file, getViewData: () => "old\ntyping" });
		const app = {
			vault: { getFileByPath: (path: string) => (path === file.path ? file : null), readBinary: async () => Promise.resolve(bytes("old\n")) },
			workspace: { getLeavesOfType: () => [{ view }] },
		} as unknown as App;
		const asked = write({ path: "public/De\u202F3\u00A0lampes.MD" });
		expect(await new Writes(new ObsidianVault(app), sha256).apply(asked)).toMatchObject({ applied: false, reason: "unsaved" });
	});

	test("waits for the one before it, and sees what that left", async () => {
		const both = await Promise.all([writes.apply(write({})), writes.apply(write({ expect: sha("new\n"), text: "newer\n" }))]);
		expect(both.map(({ applied }) => applied)).toEqual([true, true]);
		expect(vault.text(NOTE)).toBe("newer\n");
	});

	test("that the app fails to do is left to the daemon", async () => {
		vault.fails = true;
		expect(await writes.apply(write({}))).toEqual({ applied: false, found: null, reason: "failed" });
	});

	test("of a note that the app does not know is left to the daemon", async () => {
		expect(await writes.apply(write({ path: "public/Gone.md" }))).toEqual({ applied: false, found: null, reason: "missing" });
	});

	test("of a file that is no text is left to the daemon", async () => {
		const raw = new Uint8Array([0xff, 0xfe, 0x00]).buffer;
		vault.files.set(NOTE, raw);
		expect(await writes.apply(write({ expect: await sha256(raw) }))).toEqual({ applied: false, found: null, reason: "text" });
	});

	test("needs a text", async () => {
		expect(await writes.apply(write({ text: null }))).toMatchObject({ applied: false, reason: "text" });
	});
});

describe("other writes", () => {
	test("a note moves", async () => {
		expect(await writes.apply(write({ action: "rename", to: "public/Other.md", text: null }))).toMatchObject({ applied: true });
		expect([...vault.files.keys()]).toEqual(["public/Other.md"]);
	});

	test("a note does not move over another", async () => {
		vault.put("public/Other.md", "there\n");
		expect(await writes.apply(write({ action: "rename", to: "public/Other.md", text: null }))).toMatchObject({ applied: false, reason: "exists" });
		expect(vault.text("public/Other.md")).toBe("there\n");
	});

	test("a note with unsaved text does not move", async () => {
		vault.open.set(NOTE, ["typing"]);
		expect(await writes.apply(write({ action: "rename", to: "public/Other.md", text: null }))).toMatchObject({ reason: "unsaved" });
		expect(vault.text(NOTE)).toBe("old\n");
	});

	test("a move without a place, or with a new text, is refused", async () => {
		expect(await writes.apply(write({ action: "rename", text: null }))).toMatchObject({ applied: false, reason: "path" });
		expect(await writes.apply(write({ action: "rename", to: "public/B.md" }))).toMatchObject({ applied: false, reason: "text" });
	});
});

test.each(["../Lamp.md", "a/../b.md", ".obsidian/plugins/x.md", "a/.b.md", "/a.md", "a//b.md", "a\\b.md", "a.json", "C:\\a.md", ""])(
	"nothing is written at %j",
	async (path) => {
		expect(isNotePath(path)).toBe(false);
		expect(await writes.apply(write({ path }))).toMatchObject({ applied: false, reason: "path" });
	},
);

test("nor is a note moved to such a place", async () => {
	expect(await writes.apply(write({ action: "rename", to: ".obsidian/a.md", text: null }))).toMatchObject({ reason: "path" });
});

test("the id of a vault is read of its marker", () => {
	expect(vaultIdIn('# marker\nvault_id = "0193-ab"\ndefault_scope = "x"\n')).toBe("0193-ab");
	expect(vaultIdIn('default_scope = "vault_id"\n')).toBeNull();
});
