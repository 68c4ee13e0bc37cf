/** The line to the daemon, over real HTTP to a small server. */

import { once } from "node:events";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Bridge, BridgeRefusal, refusal } from "../../src/client";
import { Connection, type Line, type World } from "../../src/connection";
import type { Event } from "../../src/sse";
import { Abandoned, BridgeLate, loopback, NotLoopback, Transport } from "../../src/transport";

Object.assign(globalThis, { window: globalThis });

const STATUS = {
	facts: 1, notes: 1, pending: 0, conflicts: 0, attention: [], outbox: 0, last_run: null, engine: "idle", vault_id: "mine", version: "0.1.0",
};

/** A server that answers by a table, and holds the streams that are open. */
class Server {
	readonly streams = new Set<http.ServerResponse>();
	readonly seen: { method: string; url: string; headers: http.IncomingHttpHeaders; body: string }[] = [];
	readonly answers = new Map<string, [number, unknown]>([["GET /v1/status", [200, STATUS]]]);
	private readonly server = http.createServer((request, response) => {
		let body = "";
		request.on("data", (part: Buffer) => (body += part.toString()));
		request.on("end", () => this.answer(request, response, body));
	});
	port = 0;

	async start(): Promise<void> {
		this.server.listen(this.port, "127.0.0.1");
		await once(this.server, "listening");
		this.port = (this.server.address() as AddressInfo).port;
	}

	async stop(): Promise<void> {
		if (!this.server.listening) return;
		this.server.close();
		this.server.closeAllConnections();
		await once(this.server, "close");
		this.streams.clear();
	}

	say(text: string): void {
		for (const stream of this.streams) stream.write(text);
	}

	private answer(request: http.IncomingMessage, response: http.ServerResponse, body: string): void {
		const { method = "", url = "", headers } = request;
		this.seen.push({ method, url, headers, body });
		if (url.startsWith("/v1/events")) {
			response.writeHead(200, { "Content-Type": "text/event-stream" }).write(": hello\n\n");
			this.streams.add(response);
			response.on("close", () => this.streams.delete(response));
			return;
		}
		if (url === "/slow") return;
		const [status, answer] = this.answers.get(`${method} ${url}`) ?? [404, { error: { kind: "NotFound", message: "no", hint: "" } }];
		response.writeHead(status, { "Content-Type": "application/json" }).end(typeof answer === "string" ? answer : JSON.stringify(answer));
	}
}

let server: Server;
let token: string;
let lines: Line[];
let events: Event[];
let pauses: number[];
let waiting: (() => void)[];
let connection: Connection;
let bridge: Bridge;
let transport: Transport;
let writes: boolean;

/** Wait until something holds. */
async function until<T>(what: () => T | false | undefined | null): Promise<T> {
	for (;;) {
		const found = what();
		if (found) return found;
		await new Promise((done) => setImmediate(done));
	}
}

const last = (): Line | undefined => lines[lines.length - 1];

beforeEach(async () => {
	server = new Server();
	await server.start();
	[token, lines, events, pauses, waiting, writes] = ["t0k3n", [], [], [], [], true];
	transport = new Transport(
		() => Promise.resolve(http),
		() => ({ address: `http://127.0.0.1:${server.port}`, token }),
	);
	bridge = new Bridge(transport, () => Promise.resolve());
	connection = new Connection({
		bridge,
		transport,
		ready: () => token !== "",
		writes: () => writes,
		vault: () => Promise.resolve("mine"),
		pause: (milliseconds, signal) => {
			pauses.push(milliseconds);
			return new Promise((done) => {
				waiting.push(done);
				signal.addEventListener("abort", () => done());
			});
		},
		changed: (line) => lines.push(line),
		event: (event) => events.push(event),
	});
});

afterEach(async () => {
	await connection.stop();
	await server.stop();
});

describe("the line", () => {
	test("is found, and tells what the daemon says", async () => {
		connection.start();
		await until(() => server.streams.size > 0);
		expect(last()).toMatchObject({ kind: "on", status: { facts: 1 } });
		server.say(`event: state\ndata: ${JSON.stringify({ ...STATUS, conflicts: 2 })}\n\n`);
		await until(() => last()?.kind === "on" && (last() as { status: { conflicts: number } }).status.conflicts === 2);
		expect(events.map(({ kind }) => kind)).toEqual(["state"]);
	});

	test("says that it can write through the app, or that it cannot", async () => {
		connection.start();
		await until(() => server.streams.size > 0);
		writes = false;
		connection.restart();
		await until(() => server.seen.filter(({ url }) => url.startsWith("/v1/events")).length === 2);
		expect(server.seen.map(({ url }) => url).filter((url) => url.startsWith("/v1/events"))).toEqual(["/v1/events?app=1", "/v1/events"]);
	});

	test("is lost when the daemon stops, and found when it is back", async () => {
		connection.start();
		await until(() => server.streams.size > 0);
		const { port } = server;
		await server.stop();
		await until(() => last()?.kind === "off");
		server = new Server();
		server.port = port;
		await server.start();
		await until(() => waiting.length > 0);
		connection.wake();
		await until(() => last()?.kind === "on");
	});

	test("is looked for less and less often, up to half a minute", async () => {
		await server.stop();
		connection.start();
		for (let i = 0; i < 8; i++) (await until(() => waiting.shift()))();
		await until(() => pauses.length >= 8);
		expect(pauses.slice(0, 8)).toEqual([1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000]);
	});

	test("is not looked for without a token", async () => {
		token = "";
		connection.start();
		await until(() => last()?.kind === "unset");
		expect(server.seen).toEqual([]);
		token = "t";
		connection.restart();
		await until(() => last()?.kind === "on");
	});

	test("is refused with a wrong token", async () => {
		server.answers.set("GET /v1/status", [401, ""]);
		connection.start();
		await until(() => last()?.kind === "refused");
		expect(last()).toMatchObject({ message: "The daemon at this address does not know this token." });
	});

	test("is not taken from the daemon of another vault", async () => {
		server.answers.set("GET /v1/status", [200, { ...STATUS, vault_id: "other" }]);
		connection.start();
		await until(() => last()?.kind === "stranger");
		expect(server.streams.size).toBe(0);
		await expect(connection.check()).rejects.toThrow("serves another vault");
	});

	test("to a new address is that of a stranger until its daemon says which vault it serves", async () => {
		connection.start();
		await until(() => server.streams.size > 0);
		server.answers.set("GET /v1/status", [200, { ...STATUS, vault_id: "other" }]);
		connection.restart();
		await expect(connection.check()).rejects.toThrow("serves another vault");
	});

	test("to an address that changes while its daemon is asked is never on", async () => {
		connection.start();
		await until(() => server.seen.length > 0);
		connection.restart();
		await until(() => server.streams.size > 0);
		expect(lines.map(({ kind }) => kind)).toEqual(["on"]);
		expect(server.seen.map(({ url }) => url).slice(0, 2)).toEqual(["/v1/status", "/v1/status"]);
	});

	test("is checked for a command before it is found, and not at all without a token", async () => {
		await connection.check();
		token = "";
		await expect(connection.check()).rejects.toThrow("No token yet.");
		expect(server.seen.map(({ url }) => url)).toEqual(["/v1/status"]);
	});

	test("to a daemon of another version is refused, with what to do", async () => {
		server.answers.set("GET /v1/status", [200, { facts: 1 }]);
		connection.start();
		await until(() => last()?.kind === "refused");
		expect(last()).toMatchObject({ hint: expect.stringContaining("vaultsync plugin install") as string });
	});

	test("to a daemon that does not answer in time is late, not off", async () => {
		const slow = { status: () => Promise.reject(new BridgeLate("the request timed out")) };
		Object.assign(connection, { world: { ...(connection as unknown as { world: World }).world, bridge: slow } });
		connection.start();
		await until(() => last()?.kind === "late");
	});

	test("asks for the status once, however much happens meanwhile", async () => {
		connection.start();
		await until(() => server.streams.size > 0 && server.seen.length >= 3);
		const before = server.seen.length;
		server.say("event: pass\ndata: {}\n\n".repeat(10));
		await until(() => events.length === 10 && server.seen.length > before);
		await connection.refresh();
		expect(server.seen.length - before).toBeLessThanOrEqual(4);
	});

	test("is refused when the token is rotated, although an old daemon keeps the stream open", async () => {
		connection.start();
		await until(() => server.streams.size > 0);
		server.answers.set("GET /v1/status", [401, ""]);
		server.say("event: pass\ndata: {}\n\n");
		await until(() => last()?.kind === "refused");
		await until(() => server.streams.size === 0);
	});

	test("hangs up when it is stopped", async () => {
		connection.start();
		await until(() => server.streams.size > 0);
		await connection.stop();
		await until(() => server.streams.size === 0);
		expect(last()?.kind).toBe("on");
	});

	test("is not looked for once it is stopped, although a daemon is there by then", async () => {
		server.answers.set("GET /v1/status", [401, ""]);
		connection.start();
		await until(() => waiting.length > 0);
		server.answers.set("GET /v1/status", [200, STATUS]);
		const asked = server.seen.length;
		await connection.stop();
		connection.start();
		await new Promise((done) => setTimeout(done, 50));
		expect(server.seen.length).toBe(asked);
	});
});

describe("a request", () => {
	test("carries the token, and for a change the words that no web page may say", async () => {
		server.answers.set("POST /v1/sync", [200, { run: null, dry_run: true, seconds: 1, counts: {}, actions: [], attention: [] }]);
		await bridge.sync({ dry_run: true });
		const [seen] = server.seen;
		expect(seen?.headers).toMatchObject({ authorization: "Bearer t0k3n", "content-type": "application/json", "x-vaultsync": "1" });
		expect(seen?.headers.origin).toBeUndefined();
		expect(JSON.parse(seen?.body ?? "")).toEqual({ dry_run: true });
	});

	test("has a connection of its own, which no daemon closes as it is used again", async () => {
		for (let asked = 0; asked < 3; asked++) await bridge.status();
		expect(server.seen.map(({ headers }) => headers.connection)).toEqual(["close", "close", "close"]);
	});

	test("is sent to no daemon before that is checked; only the status is", async () => {
		bridge = new Bridge(transport, () => Promise.reject(new Error("another vault")));
		await expect(bridge.sync()).rejects.toThrow("another vault");
		await expect(bridge.verify()).rejects.toThrow("another vault");
		await bridge.status();
		expect(server.seen.map(({ url }) => url)).toEqual(["/v1/status"]);
	});

	test("that a daemon of another version does not know says so", () => {
		const unknown = { error: { kind: "RouteError", message: "GET /v1/x: not found", hint: "docs/reference/bridge.md lists the routes" } };
		expect(refusal(404, JSON.stringify(unknown))).toMatchObject({ kind: "version", hint: expect.stringContaining("vaultsync plugin install") as string });
	});

	test("names ids so that they stay ids", async () => {
		await expect(bridge.fact("../status?x")).rejects.toThrow(BridgeRefusal);
		expect(server.seen[0]?.url).toBe("/v1/facts/..%2Fstatus%3Fx");
	});

	test("fails in the daemon's own words", async () => {
		server.answers.set("GET /v1/verify", [409, { error: { kind: "GuardError", message: "too much", hint: "look", run: "r1" } }]);
		await expect(bridge.verify()).rejects.toMatchObject({ status: 409, kind: "GuardError", message: "too much", hint: "look", run: "r1" });
	});

	test("is not answered by a stranger", async () => {
		server.answers.set("GET /v1/verify", [200, "<html>a router</html>"]);
		await expect(bridge.verify()).rejects.toMatchObject({ kind: "stranger", message: "The server at this address is not vaultsync." });
		server.answers.set("GET /v1/status", [404, "<html>a router</html>"]);
		connection.start();
		await until(() => last()?.kind === "refused");
		expect(last()).toMatchObject({ message: "A server that is not vaultsync answered 404." });
	});

	test("beyond an agent's limit is not taken for a wrong token", () => {
		const limit = { error: { kind: "WriteLimitError", message: "too many writes", hint: "wait", run: null } };
		expect(refusal(429, JSON.stringify(limit)).message).toBe("too many writes");
		const wrong = { error: { ...limit.error, kind: "UsageError", message: "too many requests had a wrong token" } };
		expect(refusal(429, JSON.stringify(wrong)).message).toContain("Too many wrong tokens");
	});

	test("can be called off", async () => {
		const controller = new AbortController();
		const asked = transport.ask({ method: "GET", path: "/slow", timeout: 60_000, signal: controller.signal });
		await until(() => server.seen.length > 0);
		controller.abort();
		await expect(asked).rejects.toThrow(Abandoned);
		await expect(transport.ask({ method: "GET", path: "/slow", timeout: 9, signal: controller.signal })).rejects.toThrow(Abandoned);
	});

	test("is given up in time", async () => {
		await expect(transport.ask({ method: "GET", path: "/slow", timeout: 20 })).rejects.toThrow(BridgeLate);
	});

	test("is given up when a stream falls silent", async () => {
		const never = new AbortController();
		await expect(transport.stream("/v1/events", 20, never.signal, () => undefined, () => undefined)).rejects.toThrow("stopped responding");
	});
});

test.each([401, 403, 429, 500])("a status %d without words gets some", (code) => {
	expect(refusal(code, "").message).not.toBe("");
});

describe("an address", () => {
	test.each(["http://127.0.0.1:27125", "http://localhost:1024/", " http://[::1]:27125 "])("%s is one of this computer", (address) => {
		expect(loopback(address).port).not.toBe("");
	});

	test.each([
		"https://127.0.0.1:27125", "http://127.0.0.1", "http://192.168.0.2:27125", "http://example.org:27125", "http://127.0.0.1.example.org:1",
		"http://me@127.0.0.1:27125", "http://0.0.0.0:27125", "file:///etc/passwd", "127.0.0.1:27125", "",
	])("%s is not, and gets no token", (address) => {
		expect(() => loopback(address)).toThrow(NotLoopback);
	});
});
