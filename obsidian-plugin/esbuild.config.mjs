// Builds the three files that Obsidian loads: into the folder that is given, else into the Python
// package, else, where this folder is a repository of its own, into this folder.
import { existsSync } from "node:fs";
import { copyFile, mkdir } from "node:fs/promises";
import { builtinModules } from "node:module";
import { join } from "node:path";
import process from "node:process";
import { build } from "esbuild";

const PACKAGE = join("..", "vaultsync");
const out = process.argv[2] ?? (existsSync(join(PACKAGE, "__init__.py")) ? join(PACKAGE, "obsidian") : ".");
await mkdir(out, { recursive: true });
await build({
	entryPoints: ["src/main.ts"],
	outfile: join(out, "main.js"),
	bundle: true,
	format: "cjs",
	target: "es2022",
	// Obsidian evaluates a plugin as CommonJS: there is a `require` and no `import()`.
	supported: { "dynamic-import": false },
	external: ["obsidian", "electron", ...builtinModules],
	minifySyntax: true,
	legalComments: "none",
	logLevel: "warning",
});
if (out !== ".") {
	await Promise.all(
		["manifest.json", "styles.css"].map((name) => copyFile(name, join(out, name))),
	);
}
