/** The summary for the status bar. */

import type { Daemon } from "./answers";
import type { Line } from "./connection";
import { many } from "./words";

export type Tone = "equal" | "waiting" | "proposal" | "conflict" | "attention" | "off";

export interface Summary {
	tone: Tone;
	/** The words in the status bar. */
	text: string;
	/** A sentence, for the tooltip and for a screen reader. */
	label: string;
	icon: string;
}

const ICONS: Record<Tone, string> = {
	equal: "check-check",
	waiting: "refresh-cw",
	proposal: "list-checks",
	conflict: "git-compare",
	attention: "alert-triangle",
	off: "unplug",
};

/** The most urgent thing: no connection, a conflict, a failing run, a notice, a proposal, pending changes. */
export function summary(line: Line): Summary {
	switch (line.kind) {
		case "unset":
			return made("off", "not connected", "No token yet: open the settings of vaultsync.");
		case "off":
			return made("off", "daemon off", "The daemon is not running. Your notes are unchanged.");
		case "late":
			return made("off", "daemon busy", "The daemon does not answer in time. Your notes are unchanged.");
		case "refused":
			return made("off", "not connected", [line.message, line.hint].filter(Boolean).join("\n"));
		case "stranger":
			return made("off", "other vault", "The daemon at this address serves another vault. Copy the address that `vaultsync watch` prints for this one to the settings of vaultsync.");
		case "on":
			return standing(line.status);
	}
}

function standing(status: {
	facts: number;
	pending: number;
	conflicts: number;
	proposals: number;
	outbox: number;
	attention: readonly unknown[];
	daemon: Daemon | null;
}): Summary {
	const waiting = status.pending + status.outbox;
	const proposed = many(status.proposals, "proposal", "proposals");
	const late = waiting > 0 ? ` ${waiting} waiting.` : "";
	const also = status.proposals > 0 ? ` ${proposed} to answer.${late}` : late;
	if (status.conflicts > 0) {
		const words = many(status.conflicts, "conflict", "conflicts");
		const text = status.proposals > 0 ? `${words} · ${proposed}` : words;
		return made("conflict", text, `${words} to resolve.${also}`);
	}
	const trouble = status.daemon ? troubleOf(status.daemon) : null;
	if (trouble !== null) return made("attention", "needs attention", `${trouble}.${also}`);
	if (status.attention.length > 0) {
		const words = many(status.attention.length, "note needs", "notes need");
		return made("attention", "needs attention", `${words} your attention.${also}`);
	}
	if (status.proposals > 0) return made("proposal", proposed, `${proposed} to answer.${late}`);
	if (waiting > 0) return made("waiting", `${waiting} waiting`, `${waiting} waiting to be synced.`);
	return made("equal", "in sync", `Notes and memory are in sync: ${many(status.facts, "fact", "facts")}.`);
}

/** Why the daemon cannot sync; null when it can. */
function troubleOf({ store_away: away, failing, last_error: error }: Daemon): string | null {
	if (away !== "") return `The store does not answer: ${away}`;
	return failing && error ? `The last run failed: ${error.message}` : null;
}

function made(tone: Tone, text: string, label: string): Summary {
	return { tone, text, label, icon: ICONS[tone] };
}
