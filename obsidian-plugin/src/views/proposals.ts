/** Proposals: what each would change, answered with one key each. */

import type { Proposal, ProposedChange } from "../answers";
import type { Verdict } from "../client";
import { VIEWS } from "../host";
import { confirm } from "../modals";
import { AnswerQueue, byKind, fieldsOf, verbOf, type Ids } from "../proposing";
import { fieldName, kindWords, many, passWords } from "../words";
import { BridgeView } from "./bridge-view";
import { drawDiff, NOW_AND_NEW } from "./diff-table";
import { button, chip, empty, firstOf, link } from "./parts";

const DONE: Record<Verdict, string> = { accept: "Accepted", reject: "Rejected" };
/** How many proposals are drawn at once. */
const MANY = 100;
const MOVES: ReadonlySet<string> = new Set(["ArrowDown", "ArrowUp", "j", "k"]);
const KEYS = "↑ ↓ or j k to move, a to accept, r to reject, o to open the note, u to undo";

/** The answer that was given last. */
interface Answered {
	words: string;
	/** The run that applied it, which can be undone; null when nothing was changed. */
	run: string | null;
}

export class ProposalsView extends BridgeView {
	private most = MANY;
	private proposals: Proposal[] | null = null;
	private current = "";
	private last: Answered | null = null;
	/** What became of the last answer. It stays in the page, for else no screen reader tells what appears in it. */
	private lastEl!: HTMLElement;
	private openEl!: HTMLElement;
	private readonly queue = new AnswerQueue(
		(ids, verdict) => this.host.attempt(() => this.send(ids, verdict)),
		() => {
			this.redraw();
			if (this.queue.count === 0) void this.refresh();
		},
	);

	override getViewType(): string {
		return VIEWS.proposals;
	}

	override getDisplayText(): string {
		return "Memory proposals";
	}

	override getIcon(): string {
		return "list-checks";
	}

	protected override build(): void {
		this.lastEl = this.bodyEl.createDiv({ cls: "vaultsync-answered", attr: { role: "status" } });
		this.openEl = this.bodyEl.createDiv({ cls: "vaultsync-body" });
		this.bodyEl.addEventListener("keydown", (event) => this.press(event));
	}

	protected override async update(stale: () => boolean): Promise<void> {
		// The list of the time before the last answer would show again what is answered.
		if (this.queue.count > 0) return;
		const proposals = await this.host.bridge.proposals();
		if (stale() || this.queue.count > 0) return;
		const first = this.proposals === null;
		if (JSON.stringify(proposals) === JSON.stringify(this.proposals)) return;
		this.proposals = proposals;
		this.redraw(first && this.app.workspace.getActiveViewOfType(ProposalsView) === this);
	}

	/** Those that are not answered yet. */
	private open(): Proposal[] {
		return (this.proposals ?? []).filter(({ id }) => !this.queue.has(id));
	}

	private redraw(focus = this.bodyEl.contains(this.bodyEl.doc.activeElement)): void {
		const open = this.open();
		if (!open.some(({ id }) => id === this.current)) this.current = open[0]?.id ?? "";
		this.openEl.empty();
		this.drawLast();
		if (open.length === 0) {
			const waits = this.queue.count > 0 ? "Your last answers are being carried out." : "When an agent or a rule suggests a change, it waits here for your answer.";
			empty(this.openEl, "check-check", "No proposals", waits).setAttrs({ tabindex: "-1", "data-current": "true" });
		} else {
			this.drawLead(open);
			const list = this.openEl.createEl("ol", { cls: "vaultsync-proposals", attr: { "aria-label": "Proposals" } });
			// The keys lead beyond what is drawn.
			while (open.slice(this.most).some(({ id }) => id === this.current)) this.most += MANY;
			firstOf(list, open, this.most, (proposal) => this.drawProposal(list, proposal), () => {
				this.most += MANY;
				this.redraw(true);
			});
		}
		if (focus) this.focusCurrent();
	}

	private focusCurrent(): void {
		const el = this.bodyEl.querySelector<HTMLElement>("[data-current=true]");
		el?.focus({ preventScroll: true });
		el?.scrollIntoView({ block: "nearest" });
	}

	private drawLast(): void {
		const { words, run } = this.last ?? { words: "", run: null };
		if (this.lastEl.firstChild?.textContent === words) return;
		this.lastEl.empty();
		if (words !== "") this.lastEl.createSpan({ text: words });
		if (run !== null) link(this.lastEl, "Undo", () => this.undo());
	}

	private drawLead(open: readonly Proposal[]): void {
		const lead = this.openEl.createDiv({ cls: "vaultsync-lead" });
		lead.createDiv({ text: `${many(open.length, "proposal waits", "proposals wait")} for your answer. Nothing changes until you accept.` });
		lead.createDiv({ cls: "vaultsync-muted vaultsync-keys", text: KEYS });
		for (const [kind, all] of byKind(open)) {
			if (all.length < 2) continue;
			const row = this.openEl.createDiv({ cls: "vaultsync-kind-row" });
			chip(row, kindWords(kind));
			row.createSpan({ cls: "vaultsync-muted", text: many(all.length, "proposal", "proposals") });
			const actions = row.createDiv({ cls: "vaultsync-actions" });
			for (const verdict of ["accept", "reject"] as const) {
				const words = verdict === "accept" ? "Accept all" : "Reject all";
				button(actions, words, () => this.answerKind(kind, all, verdict)).setAttr("aria-label", `${words} of the kind ${kindWords(kind)}`);
			}
		}
	}

	private drawProposal(list: HTMLElement, proposal: Proposal): void {
		const here = proposal.id === this.current;
		const el = list.createEl("li", { cls: "vaultsync-proposal" });
		el.toggleClass("is-current", here);
		const head = el.createEl("button", { cls: "vaultsync-proposal-head", attr: { type: "button", "aria-expanded": String(here), "data-current": String(here) } });
		head.addEventListener("click", () => this.moveTo(proposal.id));
		const top = head.createDiv({ cls: "vaultsync-proposal-top" });
		top.createSpan({ cls: "vaultsync-proposal-title", text: proposal.title });
		chip(top, kindWords(proposal.kind));
		head.createDiv({ cls: "vaultsync-muted", text: proposal.why });
		head.createDiv({ cls: "vaultsync-muted", text: `By ${proposal.proposer}, on ${proposal.created_at.slice(0, 10)}; until ${proposal.expires_at.slice(0, 10)}` });
		if (here) this.drawChanges(el, proposal);
	}

	private drawChanges(parent: HTMLElement, proposal: Proposal): void {
		const el = parent.createDiv({ cls: "vaultsync-proposal-body" });
		if (proposal.changed_since.length > 0) {
			const fields = proposal.changed_since.map(fieldName).join(", ");
			el.createDiv({ cls: "vaultsync-stale-word", text: `Review again: ${fields} changed after this was proposed. The current values are below.` });
		}
		for (const change of proposal.changes) this.drawChange(el, proposal, change);
		const actions = el.createDiv({ cls: "vaultsync-actions vaultsync-choose" });
		button(actions, "Accept", () => this.answer("accept"), "mod-cta");
		button(actions, "Reject", () => this.answer("reject"));
		if (pathOf(proposal) !== null) button(actions, "Open note", () => this.openNote());
	}

	private drawChange(parent: HTMLElement, proposal: Proposal, change: ProposedChange): void {
		const el = parent.createEl("section", { cls: "vaultsync-field" });
		const verb = verbOf(change);
		const head = el.createEl("h4");
		head.appendText(`${verb} `);
		const { path } = change;
		const name = change.title === "" ? (path ?? change.fact_id) : change.title;
		if (path === null) head.appendText(name);
		else link(head, name, () => this.host.openNote(path));
		for (const { field, before, after } of fieldsOf(change, proposal)) {
			el.createDiv({ cls: "vaultsync-muted", text: fieldName(field) });
			if (verb === "Change") {
				drawDiff(el, { left: before, right: after, leftName: "Now", rightName: "Proposed", field: fieldName(field), sides: NOW_AND_NEW });
			} else {
				el.createEl("pre", { cls: "vaultsync-value", text: (verb === "New" ? after : before) || "nothing", attr: { "data-verb": verb } });
			}
		}
	}

	private press(event: KeyboardEvent): void {
		if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
		const work = this.keys[event.key];
		if (!work) return;
		event.preventDefault();
		// A key that is held answers once, and moves on and on.
		if (!event.repeat || MOVES.has(event.key)) work();
	}

	private readonly keys: Readonly<Record<string, () => void>> = {
		ArrowDown: () => this.step(1),
		j: () => this.step(1),
		ArrowUp: () => this.step(-1),
		k: () => this.step(-1),
		a: () => this.answer("accept"),
		r: () => this.answer("reject"),
		o: () => void this.openNote(),
		u: () => void this.undo(),
	};

	private step(by: number): void {
		const open = this.open();
		const next = open[open.findIndex(({ id }) => id === this.current) + by];
		if (next) this.moveTo(next.id);
	}

	private moveTo(id: string): void {
		this.current = id;
		this.redraw(true);
	}

	/** Answer the current one, and move on to the next. */
	private answer(verdict: Verdict): void {
		const open = this.open();
		const at = open.findIndex(({ id }) => id === this.current);
		const here = open[at];
		if (!here) return;
		this.queue.add([here.id], verdict);
		this.moveTo((open[at + 1] ?? open[at - 1])?.id ?? "");
	}

	private async answerKind(kind: string, all: readonly Proposal[], verdict: Verdict): Promise<void> {
		const [first, ...more] = all.map(({ id }) => id);
		if (first === undefined) return;
		const words = many(all.length, "proposal", "proposals");
		const does = verdict === "accept" ? "They are one run, which you can undo." : "Nothing changes, and they are not proposed again.";
		const title = `${verdict === "accept" ? "Accept" : "Reject"} ${words}?`;
		if (!(await confirm(this.app, title, `All ${all.length} of the kind “${kindWords(kind)}”. ${does}`, `${verdict === "accept" ? "Accept" : "Reject"} all ${all.length}`))) return;
		this.queue.add([first, ...more], verdict);
		this.redraw(true);
	}

	private async send(ids: Ids, verdict: Verdict): Promise<void> {
		const { proposals, run, attention } = await this.host.bridge.answer(ids, verdict);
		const settled = proposals.filter(({ outcome }) => outcome !== "");
		this.proposals = (this.proposals ?? []).flatMap((each) => {
			const now = proposals.find(({ id }) => id === each.id);
			if (!now) return [each];
			return now.outcome === "" ? [now] : [];
		});
		const what = settled.length === 1 ? `: ${settled[0]?.title ?? ""}` : ` ${many(settled.length, "proposal", "proposals")}`;
		const done = settled.length === 0 ? "Nothing was done." : `${DONE[verdict]}${what}.`;
		this.last = { words: [done, ...attention.map(({ message, hint }) => `${message}: ${hint}.`)].join(" "), run };
	}

	private async openNote(): Promise<void> {
		const here = this.open().find(({ id }) => id === this.current);
		const path = here ? pathOf(here) : null;
		if (path !== null) await this.host.openNote(path);
	}

	private async undo(): Promise<void> {
		const run = this.last?.run ?? null;
		if (run === null) return;
		await this.host.attempt(async () => {
			const { counts } = await this.host.bridge.undo(run);
			this.last = { words: `Undone: ${passWords(counts)}.`, run: null };
		});
		this.redraw();
	}
}

/** The note that a proposal is about, else its own. */
function pathOf({ changes, path }: Proposal): string | null {
	return changes.find((change) => change.path !== null)?.path ?? path;
}
