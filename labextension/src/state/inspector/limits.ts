/** The most tokens that each request could hold. */
import type { TimelineView } from '../../protocol/generated';

/** Returns the limit of each request: as recorded, else the listed one of its model, else 0. */
export function limitsOf({
  requests,
  listed_limits: listed
}: TimelineView): readonly number[] {
  return requests.window.map(
    (window, request) => window || (listed[requests.model[request] ?? -1] ?? 0)
  );
}
