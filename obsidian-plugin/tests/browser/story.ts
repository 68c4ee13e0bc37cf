/** What happened in the vault before the curtain rises. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Fact, Memory } from "./memory";

const LAMP = `The lamp at berth 12 has been dark since Sunday.

The chandler has the bulb, one of two, and keeps it behind the counter until Friday.

Bring the long ladder: the short one ends a metre below the bracket.

Who climbs the mast: nobody yet.

Until then a lantern hangs from the pile.`;

/** A person and an agent change the same line and the same priority of a note. */
export async function lampConflict(memory: Memory): Promise<Fact> {
	const lamp = await memory.remember(
		LAMP,
		...["--title", "Mend the lamp at berth 12", "--type", "task", "--scope", "project-tidebell"],
		...["--tag", "lighting", "--entity", "Skarvik Harbour"],
	);
	await memory.edit(lamp.path, "nobody yet.", "Bente, on Friday.");
	await memory.edit(lamp.path, "priority: 2", "priority: 0");
	const other = LAMP.replace("nobody yet.", "a rigger from town, on Monday.").replace("a lantern hangs", "two lanterns hang");
	await memory.cli("update", lamp.id, "--content", other, "--set", "priority=1", "--agent", "indy");
	return lamp;
}

/** A decision, and the one that took its place. */
export async function supersededGlands(memory: Memory): Promise<Fact> {
	const first = await memory.remember("We order cable glands from Nordkabel.", "--type", "decision", "--scope", "project-tidebell", "--priority", "1");
	const made = await memory.cli("supersede", first.id, "We order cable glands from Havnegear; Nordkabel stopped making the wet ones.", "--agent", "indy");
	const fact = made as unknown as Fact;
	await memory.cli("update", fact.id, "--set", "priority=0", "--add-tag", "hardware", "--agent", "moss");
	return memory.fact(fact.id);
}

const THINGS = [
	"anchor", "bollard", "buoy", "cleat", "crane", "ferry", "fender", "gangway", "hawser", "jetty", "ladder", "lantern", "mooring", "oilskin", "pallet",
	"pontoon", "quay", "rudder", "sluice", "tender",
];
const PLACES = ["boathouse", "breakwater", "cellar", "chandlery", "office", "shed", "slipway", "stairs", "tower", "workshop"];
const FAULTS = ["wants new paint", "leaks when it rains", "squeaks at night", "leans to the east", "has lost two bolts"];
const CAUSES = [
	"because salt has eaten whatever was left of the red coat that spring hands gave it before those long rains came",
	"for nobody greased a single joint since last autumn although three people had promised to do exactly that weekly",
	"as our supplier sent bronze where stainless steel had been ordered, and the wrong batch went in without a look",
	"which Oskar noticed too late, since his round ends one gate earlier than everybody in the crew has always assumed",
];

const pick = (list: readonly string[], at: number): string => list[at % list.length] ?? "";

/** A title that was cut off, and two facts that say the same: each with its proposal. */
export async function twoProposals(memory: Memory): Promise<void> {
	await propose(memory);
	const more = { scope: "team-core", agentId: "indy" };
	await memory.import([
		{ content: `The ladder at the quay wants paint, ${CAUSES[0] ?? ""}.`, type: "lesson", ...more },
		{ content: "Each morning a keeper checks the gangway before the first boat leaves, and writes what is broken into the grey book.", type: "convention", ...more },
		{ content: "Each morning a keeper checks the gangway before the first boat leaves, and writes what is broken into the grey book there.", type: "convention", ...more },
	]);
	await memory.cli("maintain");
}

/** One proposal of each of four kinds, as a person meets them. */
export async function fewProposals(memory: Memory): Promise<void> {
	await propose(memory);
	const old = new Date(Date.now() - 100 * 86_400_000).toISOString().replace(/\.\d+Z/, "Z");
	const more = { scope: "project-tidebell", agentId: "indy" };
	const winch = "The winch at the slipway carries two tonnes, and needs a second hand at the brake while a boat hangs in its slings over the water";
	await memory.import([
		{ content: `${winch} at night.`, type: "fact", ...more },
		{ content: `${winch}.`, type: "fact", ...more, agentId: "moss" },
		{ content: "The fee for a guest berth is 180 kroner.", type: "fact", ...more, createdAt: old },
		{ content: "The fee for a guest berth is 220 kroner.", type: "fact", ...more },
		{ content: `The third camera on the pier sees nothing after dusk, ${CAUSES[2] ?? ""}.`, type: "lesson", ...more },
		{ content: "A gull sat on the mast of the ferry during the test.", type: "fact", priority: 4, ...more, createdAt: old },
	]);
	await memory.cli("maintain");
}

/** Let all rules propose that the tests need. */
async function propose(memory: Memory): Promise<void> {
	const config = join(".meta", "config.toml");
	await writeFile(join(memory.vault, config), `${await memory.read(config)}\n[proposals]\nretitle = "propose"\njunk = "propose"\n`);
}

/** Sixty things for the rules of maintenance: 20 never used, 20 cut titles, 12 duplicates, 8 contradictions. */
export async function sixtyProposals(memory: Memory): Promise<void> {
	await propose(memory);
	const old = new Date(Date.now() - 100 * 86_400_000).toISOString().replace(/\.\d+Z/, "Z");
	const facts: Record<string, unknown>[] = [];
	const add = (content: string, type: string, more: Record<string, unknown> = {}): void => {
		facts.push({ content, type, scope: "team-core", agentId: "indy", ...more });
	};
	for (let n = 0; n < 20; n++) {
		add(`Somebody moved the ${pick(THINGS, n)} past the ${pick(PLACES, n * 3)}.`, "fact", { priority: 4, createdAt: old });
		add(`The ${pick(THINGS, n)} at the ${pick(PLACES, n * 7 + 1)} ${pick(FAULTS, n)}, ${pick(CAUSES, Math.floor(n / 5))}.`, "lesson");
	}
	for (let n = 0; n < 12; n++) {
		const content = `Each morning a keeper checks the ${pick(THINGS, n + 3)} near the ${pick(PLACES, n)} before the first boat leaves, and writes what is broken into the grey book`;
		add(`${content}.`, "convention");
		add(`${content} there.`, "convention", { agentId: "moss" });
	}
	for (let n = 0; n < 8; n++) {
		add(`The fee for the ${pick(THINGS, n + 12)} is ${20 + n} kroner.`, "preference", { createdAt: old });
		add(`The fee for the ${pick(THINGS, n + 12)} is ${70 + n} kroner.`, "preference");
	}
	await memory.import(facts);
	for (let run = 0; run < 4; run++) await memory.cli("maintain");
}
