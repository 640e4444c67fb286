/** Keys that move along the requests. */

const PAGE_REQUESTS = 10;

interface IPressedKey {
  readonly key: string;
  readonly altKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
}

/** Returns the request that a key moves to; null for a key that moves nowhere. */
export function requestAfterKey(
  { key, altKey, ctrlKey, metaKey }: IPressedKey,
  request: number,
  total: number
): number | null {
  if (altKey || ctrlKey || metaKey) {
    return null;
  }
  const clamp = (target: number) => Math.min(Math.max(target, 0), total - 1);
  switch (key) {
    case 'ArrowLeft':
    case 'ArrowDown':
      return clamp(request - 1);
    case 'ArrowRight':
    case 'ArrowUp':
      return clamp(request + 1);
    case 'PageDown':
      return clamp(request - PAGE_REQUESTS);
    case 'PageUp':
      return clamp(request + PAGE_REQUESTS);
    case 'Home':
      return 0;
    case 'End':
      return total - 1;
    default:
      return null;
  }
}
