/** The world outside the page: files and HTTP, which the test runs in Node. */

/** What the test exposes to the page. */
export interface Outside {
	list(): Promise<string[]>;
	read(path: string): Promise<number[] | null>;
	write(path: string, text: string): Promise<void>;
	mkdir(path: string): Promise<void>;
	rename(path: string, to: string): Promise<void>;
	remove(path: string): Promise<void>;
	send(id: number, options: HttpOptions, body: string | null): Promise<void>;
	hangUp(id: number): Promise<void>;
}

export interface HttpOptions {
	host: string;
	port: string;
	path: string;
	method: string;
	headers: Record<string, string>;
}

declare global {
	interface Window {
		outside: Outside;
		/** News of a request that the page sent. */
		answered(id: number, kind: "head" | "data" | "end" | "error", value: string): void;
		/** Files changed in the vault. */
		changed(paths: string[]): void;
	}
}

export const bytesOf = async (path: string): Promise<ArrayBuffer | null> => {
	const found = await window.outside.read(path);
	return found && new Uint8Array(found).buffer;
};

type Told = (value: never) => void;

class Emitter {
	private readonly told = new Map<string, Told[]>();

	on(kind: string, told: Told): this {
		this.told.set(kind, [...(this.told.get(kind) ?? []), told]);
		return this;
	}

	emit(kind: string, value?: unknown): void {
		for (const told of this.told.get(kind) ?? []) told(value as never);
	}
}

class Answer extends Emitter {
	statusCode = 0;

	setEncoding(): void {
		// Text comes as text already.
	}
}

const open = new Map<number, Request>();
let count = 0;

class Request extends Emitter {
	readonly id = ++count;
	readonly answer = new Answer();
	private closed = false;

	constructor(
		private readonly options: HttpOptions,
		readonly answered: (answer: Answer) => void,
	) {
		super();
		open.set(this.id, this);
	}

	end(body?: string): void {
		const { host, port, path, method, headers } = this.options;
		void window.outside.send(this.id, { host, port, path, method, headers }, body ?? null);
	}

	destroy(): void {
		if (this.closed) return;
		this.closed = true;
		open.delete(this.id);
		void window.outside.hangUp(this.id);
	}

	hear(kind: "head" | "data" | "end" | "error", value: string): void {
		if (this.closed) return;
		if (kind === "head") {
			this.answer.statusCode = Number(value);
			this.answered(this.answer);
		} else if (kind === "error") {
			this.emit("error", new Error(value));
		} else {
			this.answer.emit(kind, value);
		}
	}
}

/** Node's module `http`, as far as the plugin uses it. */
export const http = {
	request: (options: HttpOptions, answered: (answer: Answer) => void): Request => new Request(options, answered),
};

export function listen(): void {
	window.answered = (id, kind, value) => open.get(id)?.hear(kind, value);
}
