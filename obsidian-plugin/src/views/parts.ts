/** Small parts that several views are made of. */

import { SearchComponent, setIcon, type App } from "obsidian";
import { fileAt } from "../app-vault";
import { nameOf, tierOf, TIERS } from "../words";

/** A decorative icon. */
export function icon(parent: HTMLElement, name: string, cls = "vaultsync-icon"): HTMLElement {
	const el = parent.createSpan({ cls, attr: { "aria-hidden": "true" } });
	setIcon(el, name);
	return el;
}

/** A button with words on it. */
export function button(parent: HTMLElement, words: string, pressed: () => unknown, cls = ""): HTMLButtonElement {
	const el = parent.createEl("button", { text: words, cls, attr: { type: "button", "data-key": words } });
	press(el, pressed);
	return el;
}

/** Do what a button is for, and not again while that is under way. */
function press(el: HTMLElement, pressed: () => unknown): void {
	el.addEventListener("click", (event) => {
		event.stopPropagation();
		if (el.getAttr("aria-busy") === "true") return;
		void busy(el, pressed);
	});
}

async function busy(el: HTMLElement, work: () => unknown): Promise<void> {
	el.setAttr("aria-busy", "true");
	try {
		await work();
	} finally {
		el.setAttr("aria-busy", null);
	}
}

/** A button with an icon, and its words for a tooltip and a screen reader. */
export function iconButton(parent: HTMLElement, name: string, words: string, pressed: () => unknown): HTMLButtonElement {
	const el = parent.createEl("button", { cls: "clickable-icon", attr: { type: "button", "aria-label": words } });
	setIcon(el, name);
	press(el, pressed);
	return el;
}

/** A link. */
export function link(parent: HTMLElement, words: string, pressed: () => unknown, cls = ""): HTMLButtonElement {
	const el = parent.createEl("button", { text: words, cls: `vaultsync-link ${cls}`.trim(), attr: { type: "button" } });
	press(el, pressed);
	return el;
}

/** A word in a small frame: a type, a tier, a side. */
export function chip(parent: HTMLElement, words: string, kind = ""): HTMLElement {
	return parent.createSpan({ cls: "vaultsync-chip", text: words, attr: kind === "" ? {} : { "data-kind": kind } });
}

export function tierChip(parent: HTMLElement, priority: number): HTMLElement {
	const tier = tierOf(priority);
	const el = chip(parent, TIERS[tier].label, tier);
	el.setAttr("aria-label", `Priority ${priority}`);
	return el;
}

/** The title of a note: its first heading, else its file name. */
export function titleOf(app: App, path: string): string {
	const file = fileAt(app, path);
	const first = file && app.metadataCache.getFileCache(file)?.headings?.find(({ level }) => level === 1);
	return first ? first.heading : nameOf(path);
}

/** A part of a view with a heading. */
export function section(parent: HTMLElement, heading: string, count?: number): HTMLElement {
	const el = parent.createEl("section", { cls: "vaultsync-section", attr: { "data-key": heading } });
	const title = el.createEl("h3", { cls: "vaultsync-heading", text: heading });
	if (count !== undefined) title.createSpan({ cls: "vaultsync-count", text: count.toLocaleString("en") });
	return el;
}

/** A number in a `dl`, with its name. */
export function figure(parent: HTMLElement, name: string, words: string, tone = ""): void {
	const el = parent.createDiv({ cls: "vaultsync-number", attr: tone === "" ? {} : { "data-tone": tone } });
	el.createEl("dt", { text: name });
	el.createEl("dd", { text: words });
}

/** The placeholder of an empty view. */
export function empty(parent: HTMLElement, name: string, words: string, more = ""): HTMLElement {
	const el = parent.createDiv({ cls: "vaultsync-empty" });
	icon(el, name, "vaultsync-empty-icon");
	el.createDiv({ cls: "vaultsync-empty-words", text: words });
	if (more !== "") prose(el.createDiv({ cls: "vaultsync-muted" }), more);
	return el;
}

/** The first of many, and a link to more of them. */
export function firstOf<T>(parent: HTMLElement, all: readonly T[], most: number, draw: (each: T) => void, more: () => void): void {
	for (const each of all.slice(0, most)) draw(each);
	if (all.length > most) link(parent.createEl(/^[OU]L$/.test(parent.tagName) ? "li" : "div", { cls: "vaultsync-more" }), `Show more (${(all.length - most).toLocaleString("en")})`, more).setAttr("data-key", "more");
}

/** Say something in an element that a screen reader reads out, but not again what it says already. */
export function say(el: HTMLElement, words: string): void {
	if (el.getText() !== words.replace(/`/g, "")) prose(el, words);
}

/** Write a sentence of the daemon into an element: what it has between backticks is code. */
export function prose(el: HTMLElement, words: string): void {
	el.empty();
	for (const [place, part] of words.split(/`([^`]+)`/).entries()) {
		if (place % 2 === 0) el.appendText(part);
		else el.createEl("code", { text: part });
	}
}

/** A field for a question, as the app has them; `changed` is also called when it is cleared. */
export function searchField(parent: HTMLElement, label: string, placeholder: string, changed: () => void): HTMLInputElement {
	const { inputEl } = new SearchComponent(parent).setPlaceholder(placeholder).onChange(changed);
	inputEl.setAttrs({ "aria-label": label, enterkeyhint: "search", spellcheck: "false" });
	return inputEl;
}

/** A choice of a few values, labelled for a screen reader. */
export function choice(
	parent: HTMLElement,
	label: string,
	options: readonly (readonly [string, string])[],
	value: string,
	chosen: (value: string) => void,
): HTMLSelectElement {
	const el = parent.createEl("select", { cls: "dropdown", attr: { "aria-label": label } });
	for (const [key, words] of options) el.createEl("option", { text: words, value: key });
	el.value = value;
	el.addEventListener("change", () => chosen(el.value));
	return el;
}

/** Redraw, and keep the keyboard focus, and where in a text it is. */
export function keepingFocus(within: HTMLElement, draw: () => void): void {
	const { activeElement } = within.doc;
	const key = activeElement && within.contains(activeElement) ? pathOf(activeElement, within) : null;
	const area = activeElement?.instanceOf(HTMLTextAreaElement) ? activeElement : null;
	const { selectionStart: from, selectionEnd: to, scrollTop } = area ?? { selectionStart: 0, selectionEnd: 0, scrollTop: 0 };
	draw();
	const el = key === null ? null : find(within, key);
	el?.focus({ preventScroll: true });
	if (!area || !el?.instanceOf(HTMLTextAreaElement)) return;
	el.setSelectionRange(from, to);
	el.scrollTop = scrollTop;
}

/** Make these the children of an element; those that it has stay where they are, and need no new layout. */
export function placed(parent: HTMLElement, wanted: readonly Element[]): void {
	const stays = new Set(wanted);
	for (const el of Array.from(parent.children)) if (!stays.has(el)) el.remove();
	for (const [at, el] of wanted.entries()) if (parent.children[at] !== el) parent.insertBefore(el, parent.children[at] ?? null);
}

function pathOf(el: Element, within: HTMLElement): string | null {
	const parts: string[] = [];
	for (let at: Element | null = el; at && at !== within; at = at.parentElement) {
		const key = at.getAttribute("data-key");
		if (key !== null) parts.unshift(key);
	}
	return parts.length > 0 ? parts.join("\n") : null;
}

function find(within: HTMLElement, key: string): HTMLElement | null {
	const all = Array.from(within.querySelectorAll<HTMLElement>("[data-key]"));
	return all.find((el) => pathOf(el, within) === key) ?? null;
}

/** Calls `work` once, when no further call came for a while. */
export function settled(milliseconds: number, work: () => void): { soon: () => void; stop: () => void } {
	let timer = 0;
	const stop = (): void => window.clearTimeout(timer);
	return {
		soon: () => {
			stop();
			timer = window.setTimeout(work, milliseconds);
		},
		stop,
	};
}
