/**
 * Validators: what came over the wire -> values of known types, or an error that names the place.
 *
 * Keys that nobody asked for are let through unseen: a newer daemon may say more.
 */

/** Checks one value that stands at `at`, and returns it with its type. */
export type Shape<T> = (value: unknown, at: string) => T;

/** The type that a shape lets through. */
export type Of<S> = S extends Shape<infer T> ? T : never;

/** An answer is not of the agreed shape. */
export class UnexpectedShape extends Error {
	constructor(
		readonly at: string,
		readonly wanted: string,
		readonly found: unknown,
	) {
		super(`${at} should be ${wanted}, but is ${describe(found)}`);
		this.name = "UnexpectedShape";
	}
}

function describe(value: unknown): string {
	if (value === null) return "null";
	if (Array.isArray(value)) return "a list";
	if (typeof value === "object") return "an object";
	return value === undefined ? "missing" : `${typeof value} ${JSON.stringify(value)}`.slice(0, 60);
}

/** A text. */
export const text: Shape<string> = (value, at) => {
	if (typeof value !== "string") throw new UnexpectedShape(at, "a text", value);
	return value;
};

/** A number that can be counted with. */
export const number: Shape<number> = (value, at) => {
	if (typeof value !== "number" || !Number.isFinite(value)) throw new UnexpectedShape(at, "a number", value);
	return value;
};

/** True or false. */
export const flag: Shape<boolean> = (value, at) => {
	if (typeof value !== "boolean") throw new UnexpectedShape(at, "true or false", value);
	return value;
};

/** Anything: the value of a field of a fact, say. */
export const anything: Shape<unknown> = (value) => value;

/** One of a few words. */
export function word<const W extends string>(...words: W[]): Shape<W> {
	return (value, at) => {
		const found = words.find((each) => each === value);
		if (found === undefined) throw new UnexpectedShape(at, words.join(" or "), value);
		return found;
	};
}

/** A value of this shape, or null. */
export function nullable<T>(shape: Shape<T>): Shape<T | null> {
	return (value, at) => (value === null ? null : shape(value, at));
}

/** A value of this shape; `instead` where there is none. */
export function optional<T, I>(shape: Shape<T>, instead: I): Shape<T | I> {
	return (value, at) => (value === undefined || value === null ? instead : shape(value, at));
}

/** A list of values of one shape. */
export function list<T>(shape: Shape<T>): Shape<T[]> {
	return (value, at) => {
		if (!Array.isArray(value)) throw new UnexpectedShape(at, "a list", value);
		return value.map((each, index) => shape(each, `${at}[${index}]`));
	};
}

/** An object whose keys are names and whose values are of one shape. */
export function table<T>(shape: Shape<T>): Shape<Record<string, T>> {
	return (value, at) => {
		const entries = Object.entries(mapping(value, at));
		return Object.fromEntries(entries.map(([key, each]) => [key, shape(each, `${at}.${key}`)]));
	};
}

/** An object with at least these keys. */
export function object<S extends Record<string, Shape<unknown>>>(shapes: S): Shape<{ [K in keyof S]: Of<S[K]> }> {
	return (value, at) => {
		const found = mapping(value, at);
		const entries = Object.entries(shapes).map(([key, shape]) => [key, shape(found[key], `${at}.${key}`)]);
		return Object.fromEntries(entries) as { [K in keyof S]: Of<S[K]> };
	};
}

/** An object as the bridge answers it, of which these keys are read: of no other may be. */
export const reading =
	<T>() =>
	<S extends Partial<Record<keyof T, Shape<unknown>>>>(
		shapes: S & Record<Exclude<keyof S, keyof T>, never>,
	): Shape<{ [K in keyof S]: Of<S[K]> }> =>
		object(shapes as Record<string, Shape<unknown>>) as Shape<{ [K in keyof S]: Of<S[K]> }>;

function mapping(value: unknown, at: string): Record<string, unknown> {
	if (typeof value !== "object" || value === null || Array.isArray(value)) {
		throw new UnexpectedShape(at, "an object", value);
	}
	return value as Record<string, unknown>;
}
