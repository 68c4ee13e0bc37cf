/** Commands for Obsidian's own command line: `obsidian vaultsync:recall query=…`. */

import type { CliData, CliFlags } from "obsidian";
import type { Bridge, Filters, Verdict } from "./client";
import { hiddenWords, kindWords, many, passWords } from "./words";

export interface CliCommand {
	/** What follows `vaultsync:`. */
	name: string;
	description: string;
	flags: CliFlags;
	/** What is answered, as JSON and as text. */
	run(bridge: Bridge, given: CliData): Promise<{ answer: unknown; text: string }>;
}

/** Something is wrong with the flags. */
export class UsageError extends Error {
	override name = "UsageError";
}

const FORMAT = { format: { value: "<text|json>", description: "Print text, or JSON" } };
const FILTERS: CliFlags = {
	type: { value: "<type>", description: "Only facts of this type" },
	scope: { value: "<scope>", description: "Only facts of this scope" },
};

export const CLI_COMMANDS: readonly CliCommand[] = [
	{
		name: "recall",
		description: "Search the memory",
		flags: {
			query: { value: "<text>", description: "The question", required: true },
			limit: { value: "<n>", description: "Maximum number of results (10)" },
			...FILTERS,
			...FORMAT,
		},
		run: async (bridge, given) => {
			const query = required(given, "query");
			const answer = await bridge.recall({ query, mode: "auto", limit: number(given, "limit", 10), ...filters(given) });
			const lines = answer.hits.map((hit) => [hit.path ?? hit.id, hit.title, ...(hit.snippet === "" ? [] : [hit.snippet])].join("\n  "));
			if (lines.length === 0) lines.push(answer.nothing_known || "Nothing found.");
			return { answer, text: [...lines, hiddenWords(answer.hidden)].filter(Boolean).join("\n") };
		},
	},
	{
		name: "remember",
		description: "Store a fact in the memory",
		flags: {
			text: { value: "<text>", description: "What to remember", required: true },
			title: { value: "<text>", description: "Its title" },
			type: { value: "<type>", description: "Its type (fact)" },
			scope: { value: "<scope>", description: "Who may see it" },
			priority: { value: "<0-4>", description: "Its priority; 0 is the highest" },
			tags: { value: "<a,b>", description: "Its tags" },
			...FORMAT,
		},
		run: async (bridge, given) => {
			const { title, scope, priority, tags } = given;
			const answer = await bridge.remember({
				text: required(given, "text"),
				type: given["type"] ?? "fact",
				...(title === undefined ? {} : { title }),
				...(scope === undefined ? {} : { scope }),
				...(priority === undefined ? {} : { priority: number(given, "priority", 2) }),
				...(tags === undefined ? {} : { tags: tags.split(",").map((tag) => tag.trim()).filter(Boolean) }),
			});
			return { answer, text: `Remembered: ${answer.title} (${answer.id})` };
		},
	},
	{
		name: "sync",
		description: "Sync notes and memory",
		flags: { preview: { description: "Only show what would change" }, ...FORMAT },
		run: async (bridge, given) => {
			const answer = await bridge.sync(given["preview"] === undefined ? {} : { dry_run: true });
			const notices = answer.attention.map(({ path, message }) => (path === null ? message : `${path}: ${message}`));
			const done = answer.dry_run ? "Would sync" : "Synced";
			return { answer, text: [`${done}: ${passWords(answer.counts)}.`, ...notices].join("\n") };
		},
	},
	{
		name: "context",
		description: "Pack what the memory knows about a question",
		flags: {
			query: { value: "<text>", description: "The question", required: true },
			budget: { value: "<tokens>", description: "Maximum number of tokens (4000)" },
			...FILTERS,
			...FORMAT,
		},
		run: async (bridge, given) => {
			const query = required(given, "query");
			const answer = await bridge.context({ query, budget: number(given, "budget", 4000), ...filters(given) });
			return { answer, text: answer.text };
		},
	},
	{
		name: "proposals",
		description: "List open proposals, or answer them",
		flags: {
			accept: { value: "<id>", description: "Accept these proposals (ids, separated by commas)" },
			reject: { value: "<id>", description: "Reject these proposals" },
			...FORMAT,
		},
		run: async (bridge, given) => {
			const verdicts = (["accept", "reject"] as const).filter((verdict) => given[verdict] !== undefined);
			if (verdicts.length > 1) throw new UsageError("accept or reject, not both");
			const [verdict] = verdicts;
			return verdict === undefined ? list(bridge) : settle(bridge, verdict, given[verdict] ?? "");
		},
	},
];

async function list(bridge: Bridge): Promise<{ answer: unknown; text: string }> {
	const proposals = await bridge.proposals();
	const lines = proposals.map(({ id, kind, title, expires_at: until }) => `${id}  ${kindWords(kind)}: ${title} (until ${until.slice(0, 10)})`);
	return { answer: { proposals }, text: lines.length === 0 ? "No proposals." : lines.join("\n") };
}

async function settle(bridge: Bridge, verdict: Verdict, words: string): Promise<{ answer: unknown; text: string }> {
	const [first, ...more] = words.split(",").map((word) => word.trim()).filter((word) => word !== "" && word !== "true");
	if (first === undefined) throw new UsageError(`${verdict}=<id> is missing`);
	const answer = await bridge.answer([first, ...more], verdict);
	const done = answer.proposals.filter(({ outcome }) => outcome !== "").length;
	const lines = [`${verdict === "accept" ? "Accepted" : "Rejected"}: ${many(done, "proposal", "proposals")}.`];
	if (answer.run !== null) lines.push(`Undo with: vaultsync undo ${answer.run}`);
	return { answer, text: [...lines, ...answer.attention.map(({ message }) => message)].join("\n") };
}

/** What the command line prints for a command: its answer, or why there is none. */
export async function cliAnswer(command: CliCommand, bridge: Bridge, given: CliData, inWords: (error: unknown) => string): Promise<string> {
	const json = given["format"] === "json";
	try {
		const { answer, text } = await command.run(bridge, given);
		return json ? JSON.stringify(answer, null, 2) : text;
	} catch (error) {
		const message = inWords(error);
		return json ? JSON.stringify({ error: { message } }, null, 2) : `Error: ${message}`;
	}
}

function required(given: CliData, name: string): string {
	const value = given[name]?.trim() ?? "";
	if (value === "" || value === "true") throw new UsageError(`${name}=<text> is missing`);
	return value;
}

function number(given: CliData, name: string, otherwise: number): number {
	const word = given[name];
	if (word === undefined) return otherwise;
	const value = Number(word);
	if (!Number.isInteger(value) || value < 0) throw new UsageError(`${name}=${word} is not a whole number`);
	return value;
}

function filters(given: CliData): Filters {
	const { type, scope } = given;
	return { ...(type === undefined ? {} : { types: [type] }), ...(scope === undefined ? {} : { scopes: [scope] }) };
}
