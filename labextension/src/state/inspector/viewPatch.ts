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
    ? (completedLists(before, patch.view, '', patch.kept) as TimelineView)
    : null;
}

/** Completes the lists of the newer value from the older one; what did not change stays the same object. */
function completedLists(
  before: object,
  after: object,
  path: string,
  kept: ViewPatch['kept']
): object {
  const oldFields = before as Record<string, unknown>;
  const newFields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(after) as [string, unknown][]) {
    const oldValue = oldFields[name];
    if (Array.isArray(value)) {
      const list = Array.isArray(oldValue) ? (oldValue as unknown[]) : [];
      newFields[name] = splicedList(
        list,
        value as unknown[],
        kept[path + name]
      );
    } else if (isObject(value) && isObject(oldValue)) {
      newFields[name] = completedLists(
        oldValue,
        value,
        `${path}${name}.`,
        kept
      );
    } else {
      newFields[name] = value;
    }
  }
  return newFields;
}

function splicedList(
  before: unknown[],
  inserted: unknown[],
  keptCounts: number[] | undefined
): unknown[] {
  if (keptCounts === undefined) {
    return inserted;
  }
  const [keptHead = 0, keptEnd = 0] = keptCounts;
  if (inserted.length === 0 && keptHead + keptEnd === before.length) {
    return before;
  }
  return [
    ...before.slice(0, keptHead),
    ...inserted,
    ...before.slice(before.length - keptEnd)
  ];
}
