/** What Obsidian adds to the document: makers of elements, and short names. */

interface Info {
	cls?: string | string[];
	text?: string | DocumentFragment;
	attr?: Record<string, string | number | boolean | null>;
	title?: string;
	parent?: Node;
	value?: string;
	type?: string;
	placeholder?: string;
	href?: string;
}

function fill(el: Element, info?: Info | string): void {
	const { cls, text, attr, title, value, type, placeholder, href } = typeof info === "string" ? { cls: info } as Info : (info ?? {});
	if (cls !== undefined) {
		const names = (Array.isArray(cls) ? cls : cls.split(" ")).filter((name) => name !== "");
		el.classList.add(...names);
	}
	if (text !== undefined) el.setText(text);
	for (const [key, each] of Object.entries(attr ?? {})) el.setAttr(key, each);
	for (const [key, each] of Object.entries({ title, type, placeholder, href })) if (each !== undefined) el.setAttribute(key, each);
	if (value !== undefined) (el as HTMLInputElement).value = value;
}

function make(tag: string, info?: Info | string, then?: (el: HTMLElement) => void): HTMLElement {
	const el = document.createElement(tag);
	fill(el, info);
	then?.(el);
	return el;
}

export function extendDocument(): void {
	const define = (target: object, names: Record<string, unknown>): void => {
		for (const [name, value] of Object.entries(names)) {
			Object.defineProperty(target, name, { value, configurable: true, writable: true });
		}
	};
	const getter = (target: object, name: string, get: (this: Node) => unknown): void => {
		Object.defineProperty(target, name, { get, configurable: true });
	};
	getter(Node.prototype, "doc", function () {
		return this.ownerDocument ?? document;
	});
	getter(Node.prototype, "win", () => window);
	define(Node.prototype, {
		empty(this: Node) {
			while (this.lastChild) this.lastChild.remove();
		},
		detach(this: ChildNode) {
			this.remove();
		},
		appendText(this: Node, text: string) {
			this.appendChild(document.createTextNode(text));
		},
		instanceOf(this: Node, type: new () => unknown) {
			return this instanceof type;
		},
		createEl(this: Node, tag: string, info?: Info | string, then?: (el: HTMLElement) => void) {
			const el = make(tag, info);
			this.appendChild(el);
			then?.(el);
			return el;
		},
		createDiv(this: Node, info?: Info | string, then?: (el: HTMLElement) => void) {
			return (this as Element).createEl("div", info, then);
		},
		createSpan(this: Node, info?: Info | string, then?: (el: HTMLElement) => void) {
			return (this as Element).createEl("span", info, then);
		},
	});
	define(Element.prototype, {
		setText(this: Element, text: string | DocumentFragment) {
			if (typeof text === "string") this.textContent = text;
			else this.replaceChildren(text);
		},
		getText(this: Element) {
			return this.textContent;
		},
		addClass(this: Element, ...names: string[]) {
			this.classList.add(...names);
		},
		removeClass(this: Element, ...names: string[]) {
			this.classList.remove(...names);
		},
		toggleClass(this: Element, names: string | string[], on: boolean) {
			for (const name of Array.isArray(names) ? names : [names]) this.classList.toggle(name, on);
		},
		hasClass(this: Element, name: string) {
			return this.classList.contains(name);
		},
		setAttr(this: Element, name: string, value: string | number | boolean | null) {
			if (value === null) this.removeAttribute(name);
			else this.setAttribute(name, String(value));
		},
		setAttrs(this: Element, all: Record<string, string | number | boolean | null>) {
			for (const [name, value] of Object.entries(all)) this.setAttr(name, value);
		},
		getAttr(this: Element, name: string) {
			return this.getAttribute(name);
		},
		findAll(this: Element, selector: string) {
			return [...this.querySelectorAll(selector)];
		},
		isActiveElement(this: Element) {
			return document.activeElement === this;
		},
	});
	define(HTMLElement.prototype, {
		show(this: HTMLElement) {
			this.style.display = "";
		},
		hide(this: HTMLElement) {
			this.style.display = "none";
		},
		toggle(this: HTMLElement, on: boolean) {
			if (on) this.show();
			else this.hide();
		},
		isShown(this: HTMLElement) {
			return this.offsetParent !== null;
		},
		setCssProps(this: HTMLElement, props: Record<string, string>) {
			for (const [name, value] of Object.entries(props)) this.style.setProperty(name, value);
		},
	});
	define(window, {
		sleep: (milliseconds: number) => new Promise((done) => window.setTimeout(done, milliseconds)),
		activeDocument: document,
		activeWindow: window,
		createEl: make,
		createDiv: (info?: Info | string) => make("div", info),
		createSpan: (info?: Info | string) => make("span", info),
		createFragment: (then?: (el: DocumentFragment) => void) => {
			const made = document.createDocumentFragment();
			then?.(made);
			return made;
		},
	});
}
