/** What happened in the vault before the curtain rises. */

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
	const first = await memory.remember("We order cable glands from Nordkabel.", "--type", "decision", "--scope", "team-core", "--priority", "1");
	const made = await memory.cli("supersede", first.id, "We order cable glands from Havnegear; Nordkabel stopped making the wet ones.", "--agent", "indy");
	const fact = made as unknown as Fact;
	await memory.cli("update", fact.id, "--set", "priority=0", "--add-tag", "hardware", "--agent", "moss");
	return memory.fact(fact.id);
}
