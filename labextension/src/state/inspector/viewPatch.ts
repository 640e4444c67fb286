/**
 * A newer view from the one that is held and what differs: the same rule as the kernel's
 * (`review/timeline_view/view_patch.py`).
 */
import { isObject } from '../../protocol/jsonValues';
import type { TimelineView, ViewPatch } from '../../protocol/generated';

/** Returns the newer view; null where the patch is not one of this view. */
export function patchedView(
  before: TimelineView,
  patch: ViewPatch
): TimelineView | null {
  return patch.after === before.seq && patch.view.epoch === before.epoch
    ? (restoreLists(before, patch.view, '', patch.kept) as TimelineView)
    : null;
}

/** Completes the lists of the newer value from the older one; what did not change stays the same object. */
function restoreLists(
  before: object,
  after: object,
  path: string,
  kept: ViewPatch['kept']
): object {
  const old = before as Record<string, unknown>;
  const merged: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(after) as [string, unknown][]) {
    const oldValue = old[name];
    if (Array.isArray(value)) {
      const list = Array.isArray(oldValue) ? (oldValue as unknown[]) : [];
      merged[name] = splicedList(list, value as unknown[], kept[path + name]);
    } else if (isObject(value) && isObject(oldValue)) {
      merged[name] = restoreLists(oldValue, value, `${path}${name}.`, kept);
    } else {
      merged[name] = value;
    }
  }
  return merged;
}

function splicedList(
  before: unknown[],
  inserted: unknown[],
  counts: number[] | undefined
): unknown[] {
  if (counts === undefined) {
    return inserted;
  }
  const [head = 0, end = 0] = counts;
  if (inserted.length === 0 && head + end === before.length) {
    return before;
  }
  return [
    ...before.slice(0, head),
    ...inserted,
    ...before.slice(before.length - end)
  ];
}
