/** Values that are computed once for an object. */

/** Returns a function that computes the value of an object once, and holds it as long as the object is there. */
export function oncePerObject<
  K extends object,
  V extends object | string | number
>(compute: (key: K) => V): (key: K) => V {
  const values = new WeakMap<K, V>();
  return key => {
    let value = values.get(key);
    if (value === undefined) {
      value = compute(key);
      values.set(key, value);
    }
    return value;
  };
}
