/** Files: the vault, its metadata, and the file manager. */

import { bytesOf } from "./world";

export interface EventRef {
	off: () => unknown;
}

export class Events {
	private readonly told = new Map<string, ((...data: never[]) => void)[]>();

	on(name: string, told: (...data: never[]) => void): EventRef {
		this.told.set(name, [...(this.told.get(name) ?? []), told]);
		return { off: () => this.told.set(name, (this.told.get(name) ?? []).filter((each) => each !== told)) };
	}

	trigger(name: string, ...data: unknown[]): void {
		for (const told of this.told.get(name) ?? []) told(...(data as never[]));
	}
}

export class TAbstractFile {
	constructor(public path: string) {}

	get name(): string {
		return this.path.slice(this.path.lastIndexOf("/") + 1);
	}
}

export class TFile extends TAbstractFile {
	get extension(): string {
		return this.name.includes(".") ? this.name.slice(this.name.lastIndexOf(".") + 1) : "";
	}

	get basename(): string {
		return this.name.replace(/\.[^.]*$/, "");
	}
}

export class TFolder extends TAbstractFile {
	children: TAbstractFile[] = [];
}

export class Vault extends Events {
	readonly configDir = ".obsidian";
	private readonly files = new Map<string, TAbstractFile>();
	private readonly root = new TFolder("/");
	readonly adapter = {
		read: async (path: string): Promise<string> => {
			const bytes = await bytesOf(path);
			if (!bytes) throw new Error(`ENOENT: ${path}`);
			return new TextDecoder().decode(bytes);
		},
	};

	getRoot(): TFolder {
		return this.root;
	}

	getAbstractFileByPath(path: string): TAbstractFile | null {
		return this.files.get(path) ?? null;
	}

	getFileByPath(path: string): TFile | null {
		const found = this.files.get(path);
		return found instanceof TFile ? found : null;
	}

	getMarkdownFiles(): TFile[] {
		return [...this.files.values()].filter((file): file is TFile => file instanceof TFile && file.extension === "md");
	}

	async read(file: TFile): Promise<string> {
		return this.adapter.read(file.path);
	}

	async cachedRead(file: TFile): Promise<string> {
		return this.read(file);
	}

	async readBinary(file: TFile): Promise<ArrayBuffer> {
		const bytes = await bytesOf(file.path);
		if (!bytes) throw new Error(`ENOENT: ${file.path}`);
		return bytes;
	}

	async create(path: string, text: string): Promise<TFile> {
		if (this.files.has(path)) throw new Error("File already exists.");
		await window.outside.write(path, text);
		return this.add(path);
	}

	async createFolder(path: string): Promise<TFolder> {
		if (this.files.has(path)) throw new Error("Folder already exists.");
		await window.outside.mkdir(path);
		return this.folder(path);
	}

	async process(file: TFile, change: (text: string) => string): Promise<string> {
		const text = change(await this.read(file));
		await window.outside.write(file.path, text);
		this.trigger("modify", file);
		return text;
	}

	async modify(file: TFile, text: string): Promise<void> {
		await this.process(file, () => text);
	}

	async load(): Promise<void> {
		for (const path of await window.outside.list()) this.add(path);
	}

	/** Files changed outside the app. */
	async look(paths: readonly string[]): Promise<void> {
		for (const path of paths) {
			const known = this.getFileByPath(path);
			const there = (await bytesOf(path)) !== null;
			if (known && !there) this.drop(known);
			else if (known) this.trigger("modify", known);
			else if (there) this.trigger("create", this.add(path));
		}
	}

	add(path: string): TFile {
		const known = this.getFileByPath(path);
		if (known) return known;
		const file = new TFile(path);
		this.files.set(path, file);
		this.folder(path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "").children.push(file);
		return file;
	}

	drop(file: TFile): void {
		this.files.delete(file.path);
		this.trigger("delete", file);
	}

	move(file: TFile, to: string): void {
		const from = file.path;
		this.files.delete(from);
		file.path = to;
		this.files.set(to, file);
		this.trigger("rename", file, from);
	}

	private folder(path: string): TFolder {
		if (path === "") return this.root;
		const known = this.files.get(path);
		if (known instanceof TFolder) return known;
		const made = new TFolder(path);
		this.files.set(path, made);
		this.folder(path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "").children.push(made);
		return made;
	}
}

interface Cached {
	frontmatter: Record<string, unknown>;
	headings: { level: number; heading: string }[];
}

export class MetadataCache extends Events {
	private readonly found = new Map<TFile, Cached>();

	constructor(private readonly vault: Vault) {
		super();
		for (const name of ["modify", "create"]) vault.on(name, (file: TFile) => void this.parse(file));
	}

	async parse(file: TFile): Promise<void> {
		if (file.extension !== "md") return;
		try {
			const text = await this.vault.read(file);
			const headings = [...text.matchAll(/^(#{1,6}) (.+)$/gm)].map(([, marks, heading]) => ({ level: (marks ?? "").length, heading: heading ?? "" }));
			this.found.set(file, { frontmatter: properties(text), headings });
			this.trigger("changed", file);
		} catch {
			this.found.delete(file);
		}
	}

	getFileCache(file: TFile): Cached | null {
		return this.found.get(file) ?? null;
	}

	getFirstLinkpathDest(link: string): TFile | null {
		const path = link.replace(/[#|].*$/, "").replace(/\.md$/, "");
		const all = this.vault.getMarkdownFiles();
		return all.find((file) => file.path === `${path}.md`) ?? all.find((file) => file.basename === path) ?? null;
	}
}

/** The properties of a note: texts and lists of texts are enough here. */
export function properties(text: string): Record<string, unknown> {
	const block = /^---\r?\n([\s\S]*?)\r?\n---/.exec(text)?.[1] ?? "";
	const found: Record<string, unknown> = {};
	let key = "";
	for (const line of block.split(/\r?\n/)) {
		const pair = /^([^\s:#][^:]*):\s*(.*)$/.exec(line);
		const item = /^\s*-\s+(.*)$/.exec(line);
		if (pair) {
			key = pair[1] ?? "";
			found[key] = plain(pair[2] ?? "");
		} else if (item) {
			found[key] = [...(Array.isArray(found[key]) ? (found[key] as unknown[]) : []), plain(item[1] ?? "")];
		}
	}
	return found;
}

function plain(value: string): string {
	return value.replace(/\s+#.*$/, "").replace(/^["'](.*)["']$/, "$1");
}

export class FileManager {
	constructor(private readonly vault: Vault) {}

	async renameFile(file: TFile, to: string): Promise<void> {
		await window.outside.rename(file.path, to);
		this.vault.move(file, to);
	}

	async trashFile(file: TFile): Promise<void> {
		await window.outside.remove(file.path);
		this.vault.drop(file);
	}

	generateMarkdownLink(file: TFile, _source: string, subpath = "", alias = ""): string {
		return `[[${file.basename}${subpath}${alias === "" ? "" : `|${alias}`}]]`;
	}
}
