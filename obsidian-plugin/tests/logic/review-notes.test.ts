import { describe, expect, test } from "vitest";
import { isReviewNote, reviewNote } from "../../src/review-notes";
import { processorTime } from "./processor";

const PROPOSAL = `---
vaultsync: proposal
proposal: "0123456789abcdef"
kind: "retitle"
expires: "2026-03-16T13:45:00Z"
---

# Proposal: Call it “The gates \\| of 12”

The title is a sentence. Proposed by \`rules\` on 2026-02-14; it is dropped on 2026-03-16 without an answer.

- [ ] Accept: do what is shown below <!-- vaultsync:take proposal=accept -->
- [x] Reject: change nothing, and do not propose it again <!-- vaultsync:take proposal=reject -->

## Change [[public/facts/gates|gates]]

**title**

\`\`\`\`diff
- # Not the title
- - [x] Accept <!-- vaultsync:take proposal=accept -->
\`\`\`\`
`;

describe("notes that ask the user", () => {
	test("are told by their properties, whatever their names are", () => {
		expect(isReviewNote("a/Later.md", { vaultsync: "conflict" }, "conflict")).toBe(true);
		expect(isReviewNote("a/Gates.conflict.md", { vaultsync: "proposal" }, "conflict")).toBe(false);
		expect(isReviewNote("a/Gates.conflict.md", {}, "conflict")).toBe(false);
		expect(isReviewNote("a/Gates.conflict.md", { vaultsync: "conflict", id: "1" }, "conflict")).toBe(false);
	});

	test("are told by their names before their properties are known", () => {
		expect(isReviewNote("a/Gates.proposal.md", undefined, "proposal")).toBe(true);
		expect(isReviewNote("a/Gates.CONFLICT.md", undefined, "conflict")).toBe(true);
		expect(isReviewNote("a/Gates.proposal.md", undefined, "conflict")).toBe(false);
		expect(isReviewNote("a/proposal.md", undefined, "proposal")).toBe(false);
	});

	test.each([["\n", "lines of Unix"], ["\r\n", "lines of Windows"]])("say what they ask, until when, and what is ticked (%j)", (end) => {
		const note = reviewNote("a.proposal.md", PROPOSAL.replace(/\n/g, end), "proposal");
		expect(note).toMatchObject({
			title: "Call it “The gates | of 12”",
			proposal: "retitle",
			expires: "2026-03-16T13:45:00Z",
			ticked: ["Reject: change nothing, and do not propose it again"],
		});
		expect(note?.body).toMatch(/^The title is a sentence\./);
		expect(note?.body).toContain("- # Not the title");
		expect(note?.body.match(/vaultsync:take/g)).toHaveLength(1);
	});

	test("are read fast with a line of many blanks", () => {
		const text = `${PROPOSAL}\n- [x] A${" ".repeat(100_000)}\n`;
		const took = processorTime(() => expect(reviewNote("a.proposal.md", text, "proposal")?.ticked).toHaveLength(1));
		expect(took).toBeLessThan(2000);
	});

	test.each([
		["of another kind", PROPOSAL.replace("vaultsync: proposal", "vaultsync: conflict")],
		["without an id", PROPOSAL.replace("0123456789abcdef", "x")],
		["without properties", "# Proposal: x"],
		["whose properties do not end", PROPOSAL.replace(/---\n\n# [^]*/, "")],
		["that is empty", ""],
	])("none is a note %s", (_, text) => {
		expect(reviewNote("a.proposal.md", text, "proposal")).toBeNull();
	});
});
