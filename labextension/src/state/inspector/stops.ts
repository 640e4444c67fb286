/** Chooses among a report's precomputed tracks the one nearest to a policy and its numbers. */
import type { TrackStop } from '../../protocol/generated';

/** Returns the stop of a policy whose numbers are nearest to those asked for; null for a policy without stops. */
export function nearestStop(
  stops: readonly TrackStop[],
  policy: string,
  numbers: Readonly<Record<string, number>>
): TrackStop | null {
  let best: TrackStop | null = null;
  let least = Infinity;
  for (const stop of stops) {
    if (stop.policy !== policy) {
      continue;
    }
    const names = new Set([
      ...Object.keys(stop.numbers),
      ...Object.keys(numbers)
    ]);
    let distance = 0;
    for (const name of names) {
      const wanted = numbers[name];
      const available = stop.numbers[name];
      if (wanted === undefined || available === undefined) {
        distance += 1;
      } else {
        const largest = Math.max(Math.abs(wanted), Math.abs(available), 1);
        distance += Math.abs(wanted - available) / largest;
      }
    }
    if (distance < least) {
      least = distance;
      best = stop;
    }
  }
  return best;
}
