/**
 * Handles the default case of a switch that covers every kind of a union.
 *
 * A kind that is added to the union makes each such call a type error until it is handled. A value of
 * a newer kernel may have an unknown kind at run time; it yields the fallback, so that an older page
 * still works.
 */
export function unknownKind<T>(...[, fallback]: [kind: never, instead: T]): T {
  return fallback;
}
