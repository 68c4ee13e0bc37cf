import { defineConfig } from "eslint/config";
import obsidianmd from "eslint-plugin-obsidianmd";
import tseslint from "typescript-eslint";

export default defineConfig([
	{ ignores: ["dist/", "node_modules/", "coverage/"] },
	...obsidianmd.configs.recommended,
	{
		files: ["src/**/*.ts"],
		extends: [tseslint.configs.strictTypeChecked],
		rules: {
			"@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
			"@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true }],
			"@typescript-eslint/explicit-function-return-type": ["error", { allowExpressions: true }],
		},
	},
	{
		languageOptions: {
			parserOptions: { projectService: { allowDefaultProject: ["*.mjs"] }, tsconfigRootDir: import.meta.dirname },
		},
	},
	// The stand-in of the app is no plugin, and tests run in Node.
	{
		files: ["tests/**/*.ts", "*.mjs", "*.ts"],
		rules: {
			"import/no-nodejs-modules": "off",
			"import/no-extraneous-dependencies": "off",
		},
	},
]);
