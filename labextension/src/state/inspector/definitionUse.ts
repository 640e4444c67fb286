/** What a session did with its tool definitions: how often a tool was called, and which were no longer offered. */
import type { TimelineView } from '../../protocol/generated';
import { oncePerObject } from '../../protocol/oncePerObject';
import { oneLine } from '../text/oneLine';
import { definitionsOf } from './definitionRows';

const callsByName = oncePerObject((view: TimelineView) => {
  const byName = new Map<string, number>();
  const { kind, tool } = view.items;
  const callKind = view.kinds.indexOf('call');
  for (const [item, itemKind] of kind.entries()) {
    if (itemKind === callKind) {
      const name = oneLine(tool[item] ?? '');
      byName.set(name, (byName.get(name) ?? 0) + 1);
    }
  }
  return byName;
});

/** Returns how many calls of the session name a tool. */
export function callsOf(view: TimelineView, name: string): number {
  return callsByName(view).get(name) ?? 0;
}

/** Returns the names of tools that the previous definitions offered and those of this item do not. */
export function removedToolNames(view: TimelineView, item: number): string[] {
  const { item: holders, name } = view.definitions;
  const { first, count } = definitionsOf(view, item);
  const previousHolder =
    count === 0 || first === 0 ? undefined : holders[first - 1];
  if (previousHolder === undefined) {
    return [];
  }
  const offered = new Set(name.slice(first, first + count));
  return [
    ...new Set(
      name.filter(
        (old, index) => holders[index] === previousHolder && !offered.has(old)
      )
    )
  ];
}
