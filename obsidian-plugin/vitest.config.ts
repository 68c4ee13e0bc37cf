import { defineConfig } from "vitest/config";

export default defineConfig({
	test: {
		projects: [
			{
				resolve: { alias: { obsidian: new URL("tests/logic/obsidian.ts", import.meta.url).pathname } },
				test: { name: "logic", include: ["tests/logic/**/*.test.ts"], environment: "node", testTimeout: 60_000 },
			},
			{
				test: {
					name: "browser",
					include: ["tests/browser/**/*.test.ts"],
					testTimeout: 300_000,
					hookTimeout: 600_000,
					fileParallelism: false,
					// A page on a busy machine may take long to show what a click leads to.
					expect: { poll: { timeout: 60_000 } },
				},
			},
			{
				test: { name: "pictures", include: ["tests/browser/pictures.ts"], testTimeout: 300_000 },
			},
		],
	},
});
