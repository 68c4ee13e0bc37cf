/** A bridge that answers as it is told, over a vault of a few notes: for states that a daemon is seldom in. */

import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const GOLDEN = join(import.meta.dirname, "..", "..", "..", "golden", "http");

export const VAULT_ID = "019bb16a-6d6f-7a73-956c-21f6636153ef";

/** The answers in `golden/http/` that a request gets unless a test says otherwise. */
const USUAL: Record<string, string> = {
	"GET /v1/status": "status-watched",
	"GET /v1/conflicts": "conflicts",
	"GET /v1/proposals": "proposals",
	"GET /v1/index": "index",
	"POST /v1/recall": "recall",
	"POST /v1/context": "context",
	"POST /v1/sync": "sync",
};

export interface Answer {
	status?: number;
	body: unknown;
	/** What it waits for. */
	after?: Promise<unknown>;
}

export class ScriptedBridge {
	readonly token = "0123456789abcdef";
	/** What was asked, in order. */
	readonly asked: { method: string; path: string; body: string }[] = [];
	private readonly replies = new Map<string, Answer>();
	private readonly listeners = new Set<ServerResponse>();
	private server!: Server;

	private constructor(
		readonly vault: string,
		private readonly usual: ReadonlyMap<string, unknown>,
	) {}

	static async start(notes: Record<string, string> = {}): Promise<ScriptedBridge> {
		const vault = await mkdtemp(join(tmpdir(), "vaultsync-scripted-"));
		const usual = new Map<string, unknown>();
		for (const [asked, name] of Object.entries(USUAL)) {
			usual.set(asked, (JSON.parse(await readFile(join(GOLDEN, `${name}.json`), "utf8")) as { answer: unknown }).answer);
		}
		const bridge = new ScriptedBridge(vault, usual);
		bridge.tells("GET /v1/status", { ...bridge.golden("GET /v1/status"), vault_id: VAULT_ID });
		for (const [path, text] of Object.entries({ ".meta/config.toml": `vault_id = "${VAULT_ID}"\n`, ...notes })) {
			await mkdir(dirname(join(vault, path)), { recursive: true });
			await writeFile(join(vault, path), text);
		}
		bridge.server = createServer((asked, answer) => void bridge.serve(asked, answer));
		await new Promise<void>((done) => bridge.server.listen(0, "127.0.0.1", done));
		return bridge;
	}

	get address(): string {
		return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
	}

	/** The answer of `golden/http/` to a request. */
	golden(asked: string): Record<string, unknown> {
		return structuredClone(this.usual.get(asked)) as Record<string, unknown>;
	}

	/** Answer a request, such as `GET /v1/conflicts`, so from now on. */
	tells(asked: string, body: unknown, more: Omit<Answer, "body"> = {}): void {
		this.replies.set(asked, { body, ...more });
	}

	/** How many listen to the events. */
	get listening(): number {
		return this.listeners.size;
	}

	/** How often a request was made. */
	count(asked: string): number {
		return this.asked.filter(({ method, path }) => `${method} ${path}` === asked).length;
	}

	/** Send an event to all that listen. */
	event(kind: string, data: unknown): void {
		for (const listener of this.listeners) listener.write(`event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`);
	}

	async remove(): Promise<void> {
		this.server.closeAllConnections();
		await new Promise((done) => this.server.close(done));
		await rm(this.vault, { recursive: true, force: true });
	}

	private async serve(request: IncomingMessage, answer: ServerResponse): Promise<void> {
		let body = "";
		for await (const part of request) body += String(part);
		const [path = ""] = (request.url ?? "").split("?");
		const asked = { method: request.method ?? "", path, body };
		this.asked.push(asked);
		if (request.headers.authorization !== `Bearer ${this.token}`) {
			answer.writeHead(401).end();
			return;
		}
		if (path === "/v1/events") {
			this.listeners.add(answer);
			answer.on("close", () => this.listeners.delete(answer));
			answer.writeHead(200, { "Content-Type": "text/event-stream" }).write(": ping\n\n");
			return;
		}
		const key = `${asked.method} ${path}`;
		const reply = this.replies.get(key) ?? { body: this.usual.get(key) };
		await reply.after;
		if (reply.body === undefined) answer.writeHead(404).end('{"error":{"kind":"RouteError","message":"not found"}}');
		else answer.writeHead(reply.status ?? 200, { "Content-Type": "application/json" }).end(JSON.stringify(reply.body));
	}
}
