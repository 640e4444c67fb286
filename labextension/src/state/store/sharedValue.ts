/** Keeps the objects of a JSON value in a newer one as far as both are equal, so that readers see what did not change. */

/** Returns a value equal to `now` that consists of the objects of `before` wherever those are equal. */
export function sharedValue<T>(oldValue: unknown, newValue: T): T {
  if (!isObject(oldValue) || !isObject(newValue) || oldValue === newValue) {
    return newValue;
  }
  if (Array.isArray(newValue) !== Array.isArray(oldValue)) {
    return newValue;
  }
  const newNames = Object.keys(newValue);
  // A model may name a field as a property of every object, such as `__proto__`.
  const sharedValues = newNames.map(name =>
    Object.hasOwn(oldValue, name)
      ? sharedValue(oldValue[name], newValue[name])
      : newValue[name]
  );
  if (
    newNames.length === Object.keys(oldValue).length &&
    newNames.every(
      (name, index) =>
        Object.hasOwn(oldValue, name) && oldValue[name] === sharedValues[index]
    )
  ) {
    return oldValue as T;
  }
  return (
    Array.isArray(newValue)
      ? sharedValues
      : Object.fromEntries(
          newNames.map((name, index) => [name, sharedValues[index]])
        )
  ) as T;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
