/** Markdown, rendered as far as the tests and the pictures need it. */

const INLINE = /(\[\[([^\]|]+)(?:\|([^\]]+))?\]\])|(\*\*([^*]+)\*\*)|(`([^`]+)`)|(\*([^*]+)\*)|(~~([^~]+)~~)/;

export const MarkdownRenderer = {
	async render(_app: unknown, markdown: string, el: HTMLElement): Promise<void> {
		await Promise.resolve();
		let list: HTMLElement | null = null;
		let paragraph: string[] = [];
		let code: { fence: string; el: HTMLElement } | null = null;
		const flush = (): void => {
			if (paragraph.length > 0) inline(el.createEl("p"), paragraph.join(" "));
			paragraph = [];
		};
		for (const line of markdown.replace(/<!--[\s\S]*?-->/g, "").split("\n")) {
			if (code) {
				if (line === code.fence) code = null;
				else code.el.appendText(`${line}\n`);
				continue;
			}
			const fence = /^(`{3,})/.exec(line)?.[1];
			if (fence !== undefined) {
				flush();
				code = { fence, el: el.createEl("pre").createEl("code") };
				continue;
			}
			const heading = /^(#{1,6}) (.*)$/.exec(line);
			const item = /^\s*(?:[-*]|\d+\.) (?:\[(.)\] )?(.*)$/.exec(line);
			const quote = /^> (.*)$/.exec(line);
			if (!item) list = null;
			if (heading) {
				flush();
				inline(el.createEl(`h${(heading[1] ?? "").length}` as "h1"), heading[2] ?? "");
			} else if (item) {
				flush();
				list ??= el.createEl("ul");
				inline(list.createEl("li"), item[2] ?? "");
			} else if (quote) {
				flush();
				inline(el.createEl("blockquote"), quote[1] ?? "");
			} else if (line.trim() === "") flush();
			else paragraph.push(line);
		}
		flush();
	},
};

function inline(el: HTMLElement, text: string): void {
	let rest = text;
	for (let found = INLINE.exec(rest); found; found = INLINE.exec(rest)) {
		el.appendText(rest.slice(0, found.index));
		if (found[1] !== undefined) {
			const target = found[2] ?? "";
			el.createEl("a", { cls: "internal-link", text: found[3] ?? target, href: target, attr: { "data-href": target } });
		} else if (found[4] !== undefined) el.createEl("strong", { text: found[5] ?? "" });
		else if (found[6] !== undefined) el.createEl("code", { text: found[7] ?? "" });
		else if (found[8] !== undefined) el.createEl("em", { text: found[9] ?? "" });
		else el.createEl("del", { text: found[11] ?? "" });
		rest = rest.slice(found.index + found[0].length);
	}
	el.appendText(rest);
}
