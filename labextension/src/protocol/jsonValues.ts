/**
 * Values of unknown shape, read as what they should be.
 */

/** Returns a list; an empty one for anything else. */
export function list(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

/** Returns a text; an empty one for anything else. */
export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Tells whether a value has fields. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
