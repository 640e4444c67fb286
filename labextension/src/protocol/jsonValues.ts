/** Reads JSON values of unknown type as the expected type. */

/** Returns the value if it is a list, otherwise an empty one. */
export function listOrEmpty(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

/** Returns the value if it is a string, otherwise an empty one. */
export function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Returns whether a value is an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
