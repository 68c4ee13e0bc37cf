/** What the browser tests need of the machine, and a clear word when it is not there. */

import { describe } from "vitest";
import { pythonPath } from "./memory";
import { browserPath } from "./stage";

const missing = [...(browserPath === null ? ["no chromium"] : []), ...(pythonPath === null ? ["no Python environment (make setup)"] : [])];
if (missing.length > 0) {
	 
	console.warn(`plugin: the browser tests are SKIPPED, for there is ${missing.join(" and ")}`);
}

/** A group of tests in a browser over a real vault. */
export const inBrowser = describe.skipIf(missing.length > 0);
