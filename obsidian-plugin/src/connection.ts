/**
 * The connection to the daemon.
 *
 * It does not poll: while connected it waits for events; while the daemon is off it retries at growing
 * intervals, and at once when the window gets the focus.
 */

import { status, type Status } from "./answers";
import { BridgeRefusal, type Bridge } from "./client";
import { EventReader, type Event } from "./sse";
import { BridgeLate, NotLoopback, type Transport } from "./transport";

/** The state of the connection. */
export type Line =
	| { kind: "unset" }
	| { kind: "off" }
	| { kind: "late" }
	| { kind: "refused"; message: string; hint: string }
	| { kind: "stranger"; vault: string }
	| { kind: "on"; status: Status };

export interface World {
	bridge: Pick<Bridge, "status">;
	transport: Pick<Transport, "stream">;
	/** Whether there is a token to try. */
	ready(): boolean;
	/** Whether the daemon may write through this app. */
	writes(): boolean;
	/** The id in the marker of this vault; null when there is none. */
	vault(): Promise<string | null>;
	/** Waits; ends early when `signal` is aborted. */
	pause(milliseconds: number, signal: AbortSignal): Promise<void>;
	/** Called each time the connection changes. */
	changed(line: Line): void;
	/** Called with each event. */
	event(event: Event): void;
}

/** The daemon sends something every 15 seconds, at least a ping. */
const SILENCE = 40_000;
const SHORTEST = 1_000;
const LONGEST = 30_000;

export class Connection {
	line: Line = { kind: "unset" };
	private stopped = new AbortController();
	private dropped = new AbortController();
	private rested = new AbortController();
	private running: Promise<void> | null = null;
	private asking: Promise<void> | null = null;
	private again = false;

	constructor(private readonly world: World) {}

	/** Start looking for the daemon. */
	start(): void {
		this.running ??= this.run();
	}

	/** Disconnect for good. */
	async stop(): Promise<void> {
		this.stopped.abort();
		this.dropped.abort();
		this.rested.abort();
		await this.running;
	}

	/** Do not wait any longer before the next try. */
	wake(): void {
		this.rested.abort();
	}

	/** Reconnect: the address, the token or a setting changed. */
	restart(): void {
		// What is asked meanwhile goes to the new address, whose daemon has not said yet which vault it serves.
		if (this.line.kind === "on") this.line = { kind: "off" };
		this.dropped.abort();
		this.wake();
	}

	/** Fetch the status. Calls made meanwhile are joined into one more fetch. */
	refresh(): Promise<void> {
		if (this.asking) {
			this.again = true;
			return this.asking;
		}
		this.asking = this.ask().finally(() => {
			this.asking = null;
			if (this.again && !this.over()) {
				this.again = false;
				void this.refresh();
			}
		});
		return this.asking;
	}

	private async run(): Promise<void> {
		let failures = 0;
		while (!this.over()) {
			this.dropped = new AbortController();
			this.rested = new AbortController();
			const heard = await this.attempt();
			failures = heard || this.dropped.signal.aborted ? 0 : failures + 1;
			if (this.dropped.signal.aborted) continue;
			await this.world.pause(Math.min(LONGEST, SHORTEST * 2 ** Math.max(0, failures - 1)), this.rested.signal);
		}
	}

	private over(): boolean {
		return this.stopped.signal.aborted;
	}

	/** One attempt. Returns whether the daemon was reached. */
	private async attempt(): Promise<boolean> {
		if (!this.world.ready()) {
			this.tell({ kind: "unset" });
			return false;
		}
		const reader = new EventReader();
		let on = false;
		const path = this.world.writes() ? "/v1/events?app=1" : "/v1/events";
		try {
			const found = await this.greeted();
			if (this.dropped.signal.aborted) return false;
			this.tell({ kind: "on", status: found });
			on = true;
			await this.world.transport.stream(
				path,
				SILENCE,
				this.dropped.signal,
				() => void this.refresh(),
				(text) => {
					for (const event of reader.read(text)) this.hear(event);
				},
			);
			this.lose(new Error("the daemon has stopped"));
		} catch (error) {
			if (!this.over()) this.lose(error);
		}
		return on;
	}

	/**
	 * Make sure that the daemon at the address serves this vault.
	 *
	 * Throws BridgeRefusal when there is no token, Stranger, or what the bridge throws.
	 */
	async check(): Promise<void> {
		if (this.line.kind === "on") return;
		if (!this.world.ready()) throw new BridgeRefusal(401, "token", "No token yet.", "Open the settings of vaultsync.");
		await this.greeted();
	}

	private async greeted(): Promise<Status> {
		const found = await this.world.bridge.status();
		const mine = await this.world.vault();
		if (mine !== found.vault_id) throw new Stranger(found.vault_id);
		return found;
	}

	private async ask(): Promise<void> {
		try {
			const found = await this.world.bridge.status();
			if (this.line.kind === "on") this.tell({ kind: "on", status: found });
		} catch (error) {
			// The stream ends when the daemon stops; a single failed request does not mean that. A token that is refused was rotated.
			if (error instanceof BridgeRefusal && error.kind === "token") this.restart();
		}
	}

	private hear(event: Event): void {
		if (event.kind === "state") this.take(event.data);
		else if (event.kind !== "write") void this.refresh();
		this.world.event(event);
	}

	private take(data: unknown): void {
		try {
			this.tell({ kind: "on", status: status(data, "state") });
		} catch {
			void this.refresh();
		}
	}

	private lose(error: unknown): void {
		if (error instanceof Stranger) this.tell({ kind: "stranger", vault: error.vault });
		else if (error instanceof BridgeRefusal) this.tell({ kind: "refused", message: error.message, hint: error.hint });
		else if (error instanceof NotLoopback) this.tell({ kind: "refused", message: error.message, hint: "" });
		else this.tell({ kind: error instanceof BridgeLate ? "late" : "off" });
	}

	private tell(line: Line): void {
		this.line = line;
		if (!this.over()) this.world.changed(line);
	}
}

class Stranger extends Error {
	constructor(readonly vault: string) {
		super("The daemon at this address serves another vault.");
	}
}
