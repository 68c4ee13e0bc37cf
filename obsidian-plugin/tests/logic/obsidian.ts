/** The little of the app that pure logic touches, for tests without a browser. */

export const requireApiVersion = (version: string): boolean => version <= apiVersion.now;
export const apiVersion = { now: "9" };
export class TFile {}
export class MarkdownView {}
export const normalizePath = (path: string): string =>
	path.replace(/[\\/]+/g, "/").replace(/^\/+|\/+$/g, "").replace(/[\u00A0\u202F]/g, " ").normalize("NFC");
