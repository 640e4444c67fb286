/** Keys that move along the requests. */

const PAGE_REQUESTS = 10;

interface IPressed {
  readonly key: string;
  readonly altKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
}

/** Returns the request that a key moves to; null for a key that moves nowhere. */
export function requestStep(
  { key, altKey, ctrlKey, metaKey }: IPressed,
  request: number,
  total: number
): number | null {
  if (altKey || ctrlKey || metaKey) {
    return null;
  }
  const clamp = (to: number) => Math.min(Math.max(to, 0), total - 1);
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
