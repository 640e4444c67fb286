/** Returns a globally unique id; also on pages without https, where `crypto.randomUUID` is missing. */
export function newId(): string {
  return [...crypto.getRandomValues(new Uint32Array(4))]
    .map(number => number.toString(16).padStart(8, '0'))
    .join('');
}
