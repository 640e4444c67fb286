/** What a session did with its tool definitions: how often a tool was called, and which were no longer offered. */
import type { TimelineView } from '../../protocol/generated';
import { oncePerObject } from '../../protocol/oncePerObject';
import { oneLine } from '../text/oneLine';
import { definitionsOf } from './definitionRows';

const callCountsByName = oncePerObject((view: TimelineView) => {
  const callCounts = new Map<string, number>();
  const { kind, tool } = view.items;
  const callKind = view.kinds.indexOf('call');
  for (const [item, itemKind] of kind.entries()) {
    if (itemKind === callKind) {
      const name = oneLine(tool[item] ?? '');
      callCounts.set(name, (callCounts.get(name) ?? 0) + 1);
    }
  }
  return callCounts;
});

/** Returns how many calls of the session name a tool. */
export function callCount(view: TimelineView, name: string): number {
  return callCountsByName(view).get(name) ?? 0;
}

/** Returns the names of tools that the previous definitions offered and those of this item do not. */
export function removedToolNames(view: TimelineView, item: number): string[] {
  const { item: holders, name } = view.definitions;
  const { firstIndex, count } = definitionsOf(view, item);
  const previousHolder =
    count === 0 || firstIndex === 0 ? undefined : holders[firstIndex - 1];
  if (previousHolder === undefined) {
    return [];
  }
  const offeredNames = new Set(name.slice(firstIndex, firstIndex + count));
  return [
    ...new Set(
      name.filter(
        (oldName, index) =>
          holders[index] === previousHolder && !offeredNames.has(oldName)
      )
    )
  ];
}
