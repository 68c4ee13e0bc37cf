/** A real vault with a real store behind it, and the daemon that serves it. */

import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const PYTHON = process.env["VAULTSYNC_PYTHON"] ?? join(ROOT, ".venv", "bin", "python");

/** The id of the sample vault. */
const SAMPLE = "019bb16a-6d6f-7a73-956c-21f6636153ef";

/** The Python that runs vaultsync; null when there is none. */
export const pythonPath: string | null = existsSync(PYTHON) ? PYTHON : null;

export interface Fact {
	id: string;
	path: string;
	content: string;
	title: string;
}

export class Memory {
	private daemon: ChildProcess | null = null;
	private port = 0;
	token = "";

	private constructor(
		private readonly folder: string,
		readonly vault: string,
		private readonly env: NodeJS.ProcessEnv,
	) {}

	/** A copy of the sample vault, with a store behind it; another vault than the others when `id` is given. */
	static async make(id?: string): Promise<Memory> {
		const folder = await mkdtemp(join(tmpdir(), "vaultsync-memory-"));
		const vault = join(folder, "Tidebell");
		await cp(join(ROOT, "sample-vault"), vault, { recursive: true });
		const own = { VAULTSYNC_VAULT: vault, VAULTSYNC_STATE_DIR: join(folder, "state"), VAULTSYNC_CONFIG_DIR: join(folder, "config") };
		const env = { ...process.env, ...own, PYTHONPATH: ROOT, PYTHONUTF8: "1" };
		const memory = new Memory(folder, vault, env);
		if (id !== undefined) await memory.edit(join(".meta", "config.toml"), SAMPLE, id);
		await memory.cli("init", vault);
		await memory.cli("rebuild", "--from", "vault");
		memory.port = await freePort();
		memory.token = String((await memory.cli("bridge", "token"))["token"]);
		return memory;
	}

	get address(): string {
		return `http://127.0.0.1:${this.port}`;
	}

	/** What a command answers; exit code 3 is an answer too: something waits for a person. */
	async cli(...words: string[]): Promise<Record<string, unknown>> {
		const run = promisify(execFile)(PYTHON, ["-m", "vaultsync", ...words, "--json"], { env: this.env, maxBuffer: 1 << 26 });
		const { stdout } = await run.catch((error: unknown) => {
			const { code, stdout: out, stderr } = error as { code: number; stdout: string; stderr: string };
			if (code === 3) return { stdout: out };
			throw new Error(`vaultsync ${words.join(" ")}: ${stderr}${out}`);
		});
		return JSON.parse(stdout) as Record<string, unknown>;
	}

	/** Ask the daemon, as another of its clients. */
	async call(method: string, path: string, body: unknown): Promise<void> {
		const answer = await fetch(`${this.address}${path}`, {
			method,
			headers: { Authorization: `Bearer ${this.token}`, "Content-Type": "application/json", "X-Vaultsync": "1" },
			body: JSON.stringify(body),
		});
		if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
	}

	async remember(text: string, ...words: string[]): Promise<Fact> {
		return (await this.cli("remember", text, "--agent", "indy", ...words)) as unknown as Fact;
	}

	/** Store facts, each with the fields that are given. */
	async import(facts: readonly Record<string, unknown>[]): Promise<void> {
		const file = join(this.folder, "facts.jsonl");
		await writeFile(file, facts.map((fact) => `${JSON.stringify(fact)}\n`).join(""));
		await this.cli("import", file);
	}

	async fact(id: string): Promise<Fact> {
		return (await this.cli("get", id)) as unknown as Fact;
	}

	read(path: string): Promise<string> {
		return readFile(join(this.vault, path), "utf8");
	}

	write(path: string, text: string): Promise<void> {
		return writeFile(join(this.vault, path), text);
	}

	delete(path: string): Promise<void> {
		return rm(join(this.vault, path));
	}

	/** A person renames a note, with another program. */
	rename(path: string, to: string): Promise<void> {
		return rename(join(this.vault, path), join(this.vault, to));
	}

	/** A person edits a note, with another editor. */
	async edit(path: string, from: string, to: string): Promise<void> {
		const text = await this.read(path);
		if (!text.includes(from)) throw new Error(`${path} does not say ${from}`);
		await writeFile(join(this.vault, path), text.replace(from, to));
	}

	/** Start the daemon, and wait until it answers. */
	async serve(): Promise<void> {
		const help = await promisify(execFile)(PYTHON, ["-m", "vaultsync", "--help"], { env: this.env });
		const command = /^\s+watch\b/m.test(help.stdout) ? "watch" : "bridge";
		const daemon = spawn(PYTHON, ["-m", "vaultsync", command, "--port", String(this.port)], { env: this.env, stdio: ["ignore", "pipe", "pipe"] });
		this.daemon = daemon;
		let said = "";
		for (const stream of [daemon.stdout, daemon.stderr]) stream.on("data", (part: Buffer) => (said += part.toString()));
		for (;;) {
			if (daemon.exitCode !== null) throw new Error(`the daemon ended: ${said}`);
			try {
				const answer = await fetch(`${this.address}/v1/status`, { headers: { Authorization: `Bearer ${this.token}` } });
				if (answer.ok) return;
			} catch {
				// Not yet.
			}
			await new Promise((done) => setTimeout(done, 50));
		}
	}

	async stop(): Promise<void> {
		const { daemon } = this;
		this.daemon = null;
		if (!daemon || daemon.exitCode !== null) return;
		const ended = once(daemon, "exit");
		daemon.kill("SIGTERM");
		await ended;
	}

	async remove(): Promise<void> {
		await this.stop();
		// A command leaves the computing of vectors to a process of its own, which may still write here.
		await rm(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
	}
}

/** A port that stays free while the daemon is away: no system gives it to a program that asks for any. */
async function freePort(): Promise<number> {
	for (;;) {
		const port = 20_000 + Math.floor(12_000 * Math.random());
		const server = createServer();
		const listens = await new Promise<boolean>((done) => {
			server.once("error", () => done(false)).listen(port, "127.0.0.1", () => done(true));
		});
		if (!listens) continue;
		server.close();
		await once(server, "close");
		return port;
	}
}
