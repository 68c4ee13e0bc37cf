// The rules of Obsidian's own review, and the strict ones of typescript-eslint.
import { defineConfig } from "eslint/config";
import obsidianmd from "eslint-plugin-obsidianmd";
import tseslint from "typescript-eslint";

const ofPlugins = Object.keys(obsidianmd.rules).map((name) => [`obsidianmd/${name}`, "off"]);

export default defineConfig([
	{ ignores: ["node_modules/"] },
	...obsidianmd.configs.recommended,
	{
		files: ["**/*.ts"],
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
	// Tests and tools are no plugin: they run in Node, and the stand-in is what plugins run in.
	{
		files: ["tests/**/*.ts", "*.mjs", "*.ts"],
		rules: {
			...Object.fromEntries(ofPlugins),
			"import/no-nodejs-modules": "off",
			"no-restricted-globals": "off",
			"import/no-extraneous-dependencies": "off",
		},
	},
	{
		files: ["tests/**/*.ts"],
		rules: { "@typescript-eslint/no-extraneous-class": "off", "@typescript-eslint/class-literal-property-style": "off" },
	},
]);
