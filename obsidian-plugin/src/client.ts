/** The bridge's routes: one method each, typed values out. */

import * as answers from "./answers";
import { UnexpectedShape, type Of, type Shape } from "./shape";
import { BridgeLate, BridgeOff, type Asked, type Transport } from "./transport";

/** The bridge answered with an error. */
export class BridgeRefusal extends Error {
	override name = "BridgeRefusal";
	constructor(
		readonly status: number,
		readonly kind: string,
		message: string,
		readonly hint: string,
		/** The run that the guard stopped, which the user may confirm; otherwise null. */
		readonly run: string | null = null,
	) {
		super(message);
	}
}

export interface Filters {
	types?: string[];
	scopes?: string[];
	tags?: string[];
	max_priority?: number;
	/** Whether superseded, archived and similar facts are included. */
	all?: boolean;
}

export interface NewFact {
	text: string;
	type: string;
	title?: string;
	scope?: string;
	priority?: number;
	tags?: string[];
}

export interface Edit {
	content?: string;
	set?: Record<string, unknown>;
	add_tags?: string[];
	remove_tags?: string[];
	expect?: string;
}

export type Resolution = { take: answers.Side; field?: string } | { field: string; text: string };

export type CopyDecision = "merge" | "keep" | "drop";

export type Verdict = "accept" | "reject";

/** A run over a large vault may take minutes; everything else answers at once. */
const PATIENT = 600_000;
const USUAL = 30_000;
const STATUS = "/v1/status";
/** What to do when the token is wrong here: each vault has its own. */
const ANOTHER_TOKEN = "Print it with `vaultsync bridge token` in this vault, and compare the address with the one that `vaultsync watch` prints for it.";
/** What to do when daemon and plugin are of versions that do not fit together. */
const SAME_VERSION = "Update vaultsync, install its plugin with `vaultsync plugin install`, and reload Obsidian.";
/** What to do when another program has the port: the daemon then takes a different one. */
const ANOTHER_ADDRESS = "Start `vaultsync watch`, and copy the address that it prints to the settings of vaultsync.";

export class Bridge {
	private questions = 0;

	constructor(
		private readonly transport: Pick<Transport, "ask">,
		/** Throws unless the daemon serves this vault; called before anything but the status is asked. */
		private readonly check: () => Promise<void>,
	) {}

	/** Whether a question is under way. */
	get asking(): boolean {
		return this.questions > 0;
	}

	status = (): Promise<answers.Status> => this.get(STATUS, answers.status);
	fact = (id: string): Promise<answers.Fact> => this.get(`/v1/facts/${part(id)}`, answers.fact);
	history = async (id: string): Promise<answers.Change[]> =>
		(await this.get(`/v1/facts/${part(id)}/history`, answers.history)).history;
	related = (id: string): Promise<answers.Related> => this.get(`/v1/facts/${part(id)}/related`, answers.related);
	conflicts = (): Promise<answers.Conflicts> => this.get("/v1/conflicts", answers.conflicts);
	proposals = async (): Promise<answers.Proposal[]> =>
		(await this.get("/v1/proposals", answers.proposals)).proposals;
	indexFiles = async (): Promise<{ name: string; bytes: number }[]> =>
		(await this.get("/v1/index", answers.indexFiles)).files;
	indexFile = async (name: string): Promise<string> =>
		(await this.get(`/v1/index/${part(name)}`, answers.indexFile)).text;
	verify = (): Promise<Of<typeof answers.verified>> => this.get("/v1/verify", answers.verified, PATIENT);

	remember = (made: NewFact): Promise<answers.Fact> => this.post("/v1/facts", made, answers.fact);
	update = (id: string, edit: Edit): Promise<answers.Fact> =>
		this.ask({ method: "PATCH", path: `/v1/facts/${part(id)}`, body: edit, timeout: USUAL }, answers.fact);
	supersede = (id: string, text: string): Promise<answers.Fact> =>
		this.post(`/v1/facts/${part(id)}/supersede`, { text }, answers.fact);
	forget = (id: string): Promise<Of<typeof answers.forgotten>> =>
		this.post(`/v1/facts/${part(id)}/forget`, {}, answers.forgotten);
	freshId = async (): Promise<string> => (await this.post("/v1/ids", {}, answers.freshId)).id;
	adopt = (id: string): Promise<answers.Report> =>
		this.post(`/v1/facts/${part(id)}/adopt`, {}, answers.report, PATIENT);

	resolve = async (id: string, how: Resolution): Promise<void> => {
		await this.post(`/v1/conflicts/${part(id)}/resolve`, how, answers.resolved, PATIENT);
	};
	/** Settle the conflict copy of a sync tool: merge it into its note, keep it as a note, or drop it. */
	settleCopy = async (path: string, take: CopyDecision): Promise<void> => {
		await this.post("/v1/copies/settle", { path, take }, answers.report, PATIENT);
	};
	/** Answer proposals; those that are answered together are one run. */
	answer = ([first, ...also]: readonly [string, ...string[]], verdict: Verdict): Promise<answers.Settled> =>
		this.post(`/v1/proposals/${part(first)}/${verdict}`, { also }, answers.settled, PATIENT);
	sync = (how: { dry_run?: boolean; confirm?: string } = {}): Promise<answers.Report> =>
		this.post("/v1/sync", how, answers.report, PATIENT);
	undo = (run: string): Promise<answers.Report> =>
		this.post(`/v1/runs/${part(run)}/undo`, {}, answers.report, PATIENT);
	colours = (): Promise<Of<typeof answers.colours>> => this.post("/v1/graph/colours", {}, answers.colours);

	recall = (
		asked: { query: string; limit: number; mode: "auto" | "index" } & Filters,
		signal?: AbortSignal,
	): Promise<answers.Recall> => this.question(this.post("/v1/recall", asked, answers.recall, PATIENT, signal));
	context = (
		asked: { query: string; budget: number } & Filters,
		signal?: AbortSignal,
	): Promise<answers.Context> => this.question(this.post("/v1/context", asked, answers.context, PATIENT, signal));

	/** Report the outcome of a write that the daemon handed over. */
	written = async (id: string, came: { applied: boolean; found: string | null; reason: string }): Promise<void> => {
		await this.post(`/v1/writes/${part(id)}`, came, answers.nothing);
	};

	private async question<T>(answer: Promise<T>): Promise<T> {
		this.questions++;
		try {
			return await answer;
		} finally {
			this.questions--;
		}
	}

	private get<T>(path: string, shape: Shape<T>, timeout = USUAL): Promise<T> {
		return this.ask({ method: "GET", path, timeout }, shape);
	}

	private post<T>(path: string, body: unknown, shape: Shape<T>, timeout = USUAL, signal?: AbortSignal): Promise<T> {
		return this.ask({ method: "POST", path, body, timeout, signal }, shape);
	}

	private async ask<T>(asked: Asked, shape: Shape<T>): Promise<T> {
		if (asked.path !== STATUS) await this.check();
		const { status, text } = await this.transport.ask(asked);
		if (status < 200 || status >= 300) throw refusal(status, text);
		try {
			return shape(parsed(text), asked.path);
		} catch (error) {
			if (!(error instanceof UnexpectedShape)) throw error;
			throw new BridgeRefusal(status, "version", `The daemon gives an answer that this version of the plugin cannot read: ${error.message}.`, SAME_VERSION);
		}
	}
}

/** The message of an error, for the user. */
export function inWords(error: unknown): string {
	if (error instanceof BridgeLate) return "The daemon did not answer in time. It may still do this: look before you try again.";
	if (error instanceof BridgeOff) return "The daemon does not answer. Start it with: vaultsync watch";
	if (error instanceof BridgeRefusal && error.hint !== "") return `${error.message}\n${error.hint}`;
	return error instanceof Error ? error.message : String(error);
}

/** The error for a status other than 2xx. */
export function refusal(status: number, text: string): BridgeRefusal {
	if (status === 401) {
		return new BridgeRefusal(401, "token", "The daemon at this address does not know this token.", ANOTHER_TOKEN);
	}
	if (status === 403) {
		return new BridgeRefusal(403, "address", "The daemon does not accept this address.", "Use the form http://127.0.0.1:PORT.");
	}
	let error: ReturnType<typeof answers.failure>["error"];
	try {
		({ error } = answers.failure(parsed(text), "answer"));
	} catch {
		return new BridgeRefusal(status, "stranger", `A server that is not vaultsync answered ${status}.`, ANOTHER_ADDRESS);
	}
	if (status === 429 && error.kind !== "WriteLimitError") {
		return new BridgeRefusal(429, "token", "Too many wrong tokens. Try again in a minute.", ANOTHER_TOKEN);
	}
	if (error.kind === "RouteError") {
		return new BridgeRefusal(status, "version", "The daemon cannot do this: its version is not that of the plugin.", SAME_VERSION);
	}
	return new BridgeRefusal(status, error.kind, error.message, error.hint, error.run);
}

function parsed(text: string): unknown {
	try {
		return JSON.parse(text) as unknown;
	} catch {
		throw new BridgeRefusal(200, "stranger", "The server at this address is not vaultsync.", ANOTHER_ADDRESS);
	}
}

function part(word: string): string {
	return encodeURIComponent(word);
}
