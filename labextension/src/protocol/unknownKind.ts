/**
 * The end of a switch that knows every kind.
 *
 * A kind that is added to a union makes each such call a type error until it is handled. A value of
 * a newer kernel may be of a kind that is not known here; it is passed over, so that an older page
 * survives it.
 */
export function unknownKind<T>(...[, instead]: [kind: never, instead: T]): T {
  return instead;
}
