/** A sample whose first items hold tool definitions. */
import type { TimelineView } from '../../src/protocol/generated';

/** Returns a view whose items, from the first on, hold definitions of these names, which share the item's tokens. */
export function withDefinitions(
  view: TimelineView,
  names: readonly (readonly string[])[]
): TimelineView {
  const rows = names.flatMap((held, item) => {
    const all = view.items.tokens[item] ?? 0;
    const total = (held.length * (held.length + 1)) / 2;
    let given = 0;
    return held.map((name, place) => {
      const isLast = place === held.length - 1;
      const tokens = isLast
        ? all - given
        : Math.floor((all * (place + 1)) / total);
      given += tokens;
      return { item, name, tokens };
    });
  });
  return {
    ...view,
    definitions: {
      item: rows.map(({ item }) => item),
      name: rows.map(({ name }) => name),
      tokens: rows.map(({ tokens }) => tokens),
      change: rows.map(() => '' as const)
    }
  };
}
