/** The times in notes are such as Obsidian reads: ISO 8601, by the library that it hands to plugins. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const VAULT = join(import.meta.dirname, "../../../sample-vault");

test("every time in a note is one that Obsidian reads", async () => {
	const { default: moment } = await import("moment");
	const names = readdirSync(VAULT, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".md"));
	const times = names.flatMap((name) => [...readFileSync(join(VAULT, name), "utf8").matchAll(/^(?:createdAt|expiresAt|commitmentDueDate): (.+)$/gm)].map((found) => found[1]));

	expect(times.length).toBeGreaterThan(10);
	expect(times.filter((time) => !moment(time, moment.ISO_8601, true).isValid())).toEqual([]);
	expect(moment("2026-06-08T07:45:00Z", moment.ISO_8601, true).toISOString()).toBe("2026-06-08T07:45:00.000Z");
});
