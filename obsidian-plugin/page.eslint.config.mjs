// The rules for the script of the graph's page, which is three files of one script: no modules, no types.
import js from "@eslint/js";
import { defineConfig } from "eslint/config";
import globals from "globals";

export default defineConfig([
	{
		files: ["**/*.js"],
		plugins: { js },
		extends: ["js/recommended"],
		languageOptions: {
			sourceType: "script",
			globals: globals.browser,
			// "use strict" stands in the first file.
			parserOptions: { ecmaFeatures: { impliedStrict: true } },
		},
		linterOptions: { reportUnusedDisableDirectives: "error" },
		rules: {
			"curly": ["error", "multi-line"],
			"eqeqeq": "error",
			"no-var": "error",
			"one-var": ["error", "never"],
			"prefer-const": "error",
		},
	},
]);
