/** Keeps the objects of a JSON value in a newer one as far as both are equal, so that readers see what did not change. */

/** Returns a value equal to `now` that consists of the objects of `before` wherever those are equal. */
export function sharedValue<T>(before: unknown, now: T): T {
  if (!isObject(before) || !isObject(now) || before === now) {
    return now;
  }
  if (Array.isArray(now) !== Array.isArray(before)) {
    return now;
  }
  const names = Object.keys(now);
  // A model may name a field as a property of every object, such as `__proto__`.
  const shared = names.map(name =>
    Object.hasOwn(before, name)
      ? sharedValue(before[name], now[name])
      : now[name]
  );
  if (
    names.length === Object.keys(before).length &&
    names.every(
      (name, index) =>
        Object.hasOwn(before, name) && before[name] === shared[index]
    )
  ) {
    return before as T;
  }
  return (
    Array.isArray(now)
      ? shared
      : Object.fromEntries(names.map((name, index) => [name, shared[index]]))
  ) as T;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
