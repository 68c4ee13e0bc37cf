/**
 * HTTP to this computer by Node's own module: plain requests, and a stream that stays open.
 *
 * Why not `requestUrl` or `fetch`: docs/decisions/0018-use-nodes-http-client-in-the-plugin.md.
 */

/*
 * What this file needs of the module `http`. Its own types would be an import of Node, which the
 * mobile apps do not have.
 */

export interface Answering {
	statusCode?: number | undefined;
	setEncoding(encoding: "utf8"): unknown;
	on(kind: "data", told: (part: string) => void): unknown;
	on(kind: "end", told: () => void): unknown;
	on(kind: "error", told: (error: Error) => void): unknown;
}

export interface Requesting {
	on(kind: "error", told: (error: Error) => void): unknown;
	end(body?: string): unknown;
	destroy(): unknown;
}

export interface Options {
	host: string;
	port: string;
	path: string;
	method: string;
	headers: Record<string, string>;
	/** A connection of its own: one that is kept may be closed by the daemon just when it is used again. */
	agent: false;
}

export interface Http {
	request(options: Options, answered: (answer: Answering) => void): Requesting;
}

/** The address of the bridge, and its token. */
export interface Where {
	address: string;
	token: string;
}

export interface Asked {
	method: "GET" | "POST" | "PATCH";
	path: string;
	body?: unknown;
	/** Timeout in milliseconds. */
	timeout: number;
	signal?: AbortSignal | undefined;
}

export interface Answered {
	status: number;
	text: string;
}

/** Nothing answers at the address, or not in time. */
export class BridgeOff extends Error {
	override name = "BridgeOff";
}

/** No answer came in time. The daemon may still do what was asked. */
export class BridgeLate extends BridgeOff {
	override name = "BridgeLate";
}

/** The address is not one of this computer. */
export class NotLoopback extends Error {
	override name = "NotLoopback";
	constructor(address: string) {
		super(`${address} is not an address of this computer, such as http://127.0.0.1:27125`);
	}
}

/** The caller has cancelled. */
export class Abandoned extends Error {
	override name = "Abandoned";
}

const LONGEST = 64 * 1024 * 1024;
const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);

export class Transport {
	constructor(
		private readonly http: () => Promise<Http>,
		private readonly where: () => Where,
	) {}

	/** Ask, and wait for the whole answer. */
	async ask(asked: Asked): Promise<Answered> {
		const options = this.options(asked);
		const http = await this.http();
		return new Promise((done, failed) => {
			const body = asked.body === undefined ? undefined : JSON.stringify(asked.body);
			const request = http.request(options, (answer) => {
				const parts: string[] = [];
				let length = 0;
				answer.setEncoding("utf8");
				answer.on("data", (part: string) => {
					length += part.length;
					if (length > LONGEST) give(new BridgeOff("the answer is too long"));
					else parts.push(part);
				});
				answer.on("end", () => {
					settle();
					done({ status: answer.statusCode ?? 0, text: parts.join("") });
				});
				answer.on("error", (error: Error) => give(new BridgeOff(error.message)));
			});
			const give = (error: Error): void => {
				settle();
				failed(error);
				request.destroy();
			};
			const late = window.setTimeout(() => give(new BridgeLate("the request timed out")), asked.timeout);
			const abandon = (): void => give(new Abandoned("no longer wanted"));
			const settle = (): void => {
				window.clearTimeout(late);
				asked.signal?.removeEventListener("abort", abandon);
			};
			request.on("error", (error: Error) => give(new BridgeOff(error.message)));
			if (asked.signal?.aborted) abandon();
			else {
				asked.signal?.addEventListener("abort", abandon);
				request.end(body);
			}
		});
	}

	/**
	 * Open a stream, and hand over its text as it comes. Resolves when the other side ends it.
	 *
	 * `silence` is how many milliseconds without a word mean that nobody is there any more.
	 */
	async stream(
		path: string,
		silence: number,
		signal: AbortSignal,
		opened: () => void,
		heard: (text: string) => void,
	): Promise<void> {
		const options = this.options({ method: "GET", path, timeout: silence });
		const http = await this.http();
		return new Promise((done, failed) => {
			let timer = 0;
			const listen = (): void => {
				window.clearTimeout(timer);
				timer = window.setTimeout(() => end(new BridgeOff("the daemon stopped responding")), silence);
			};
			const end = (error?: Error): void => {
				window.clearTimeout(timer);
				signal.removeEventListener("abort", abandon);
				if (error) failed(error);
				else done();
				request.destroy();
			};
			const abandon = (): void => end(new Abandoned("no longer wanted"));
			const request = http.request(options, (answer) => {
				const status = answer.statusCode ?? 0;
				if (status !== 200) return end(new BridgeOff(`the daemon answered ${status}`));
				answer.setEncoding("utf8");
				answer.on("data", (part: string) => {
					listen();
					heard(part);
				});
				answer.on("end", () => end());
				answer.on("error", (error: Error) => end(new BridgeOff(error.message)));
				opened();
			});
			request.on("error", (error: Error) => end(new BridgeOff(error.message)));
			if (signal.aborted) return abandon();
			signal.addEventListener("abort", abandon);
			listen();
			request.end();
		});
	}

	private options(asked: Asked): Options {
		const { address, token } = this.where();
		const url = loopback(address);
		const headers: Record<string, string> = { Authorization: `Bearer ${token}` };
		if (asked.method !== "GET") {
			headers["Content-Type"] = "application/json";
			headers["X-Vaultsync"] = "1";
		}
		return {
			host: url.hostname.replace(/^\[|\]$/g, ""),
			port: url.port,
			path: asked.path,
			method: asked.method,
			headers,
			agent: false,
		};
	}
}

/**
 * The address as a URL.
 *
 * Throws NotLoopback for anything else than HTTP to this computer: the token goes nowhere else.
 */
export function loopback(address: string): URL {
	let url: URL;
	try {
		url = new URL(address.trim());
	} catch {
		throw new NotLoopback(address);
	}
	if (url.protocol !== "http:" || !LOOPBACK.has(url.hostname) || url.username || url.port === "") {
		throw new NotLoopback(address);
	}
	return url;
}
