/** The release, as the review of Obsidian's directory looks at it: its build, its manifest, its README. */

import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const HERE = join(import.meta.dirname, "..", "..");
const SOURCES = ["src", "esbuild.config.mjs", "manifest.json", "package.json", "styles.css", "tsconfig.json"];

const json = async (name: string): Promise<Record<string, string>> => JSON.parse(await readFile(join(HERE, name), "utf8")) as Record<string, string>;

describe("the build", () => {
	let folder: string;
	const bundle = (within: string, ...into: string[]): Promise<unknown> => promisify(execFile)(process.execPath, ["esbuild.config.mjs", ...into], { cwd: within });

	beforeAll(async () => {
		folder = await mkdtemp(join(tmpdir(), "vaultsync-build-"));
		const alone = join(folder, "a repository of its own");
		for (const name of SOURCES) await cp(join(HERE, name), join(alone, name), { recursive: true });
		await symlink(join(HERE, "node_modules"), join(alone, "node_modules"), "junction");
		await Promise.all([bundle(alone), bundle(HERE, join(folder, "one"))]);
		await bundle(HERE, join(folder, "two"));
	});

	afterAll(() => rm(folder, { recursive: true, force: true }));

	test("gives the same bytes each time, and in any folder", async () => {
		const built = (...at: string[]): Promise<Buffer> => readFile(join(folder, ...at, "main.js"));
		const [one, two, alone] = await Promise.all([built("one"), built("two"), built("a repository of its own")]);
		expect(one.equals(two)).toBe(true);
		expect(one.equals(alone)).toBe(true);
	});

	test("gives the three files of a release, and nothing else", async () => {
		expect((await readdir(join(folder, "one"))).sort()).toEqual(["main.js", "manifest.json", "styles.css"]);
	});

	test("names no file of this computer, no time, and no code that is loaded from elsewhere", async () => {
		const text = await readFile(join(folder, "one", "main.js"), "utf8");
		expect(text).not.toContain(HERE);
		expect(text).not.toMatch(/\beval\(|new Function\(|innerHTML|https:\/\/|sourceMappingURL/);
		const modules = new Set([...text.matchAll(/require\("([^"]+)"\)/g)].map(([, name]) => name));
		expect(modules).toEqual(new Set(["obsidian", "http"]));
	});
});

describe("the manifest", () => {
	test("has the version of the package, which says what app it needs", async () => {
		const [manifest, pack, versions] = await Promise.all(["manifest.json", "package.json", "versions.json"].map(json));
		expect(manifest?.["version"]).toMatch(/^\d+\.\d+\.\d+$/);
		expect(manifest?.["version"]).toBe(pack?.["version"]);
		expect(versions?.[manifest?.["version"] ?? ""]).toBe(manifest?.["minAppVersion"]);
	});

	test("has an id, a name and a description as the directory wants them", async () => {
		const { id, name, description } = await json("manifest.json");
		expect(id).toMatch(/^[a-z-]+$/);
		expect(`${id} ${name} ${description}`).not.toMatch(/obsidian|plugin/i);
		expect(description?.length).toBeLessThanOrEqual(250);
		expect(description).toMatch(/^[A-Z][^\p{Extended_Pictographic}]*\.$/u);
	});
});

test("the README discloses the network, files outside the vault, and the license", async () => {
	const text = await readFile(join(HERE, "README.md"), "utf8");
	for (const words of ["**Network.**", "**Files outside the vault.**", "no telemetry", "Apache License 2.0"]) expect(text).toContain(words);
});
