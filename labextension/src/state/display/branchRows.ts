/**
 * The figures of branches as rows of a table, and which of them differ.
 */
import type { Branch, Usage } from '../../protocol/generated';
import { count, dollars } from './numberFormat';

interface IRowWords {
  __(text: string, ...values: (string | number)[]): string;
}

export interface IBranchRow {
  name: string;
  /** One for each branch. */
  values: readonly string[];
  differ: boolean;
}

/** Returns the rows in the order in which they are shown. */
export function branchRows(
  branches: readonly Branch[],
  words: IRowWords
): readonly IBranchRow[] {
  const row = (name: string, value: (one: Branch) => string) => {
    const values = branches.map(value);
    return { name, values, differ: new Set(values).size > 1 };
  };
  const forked = (one: Branch) =>
    one.parent === ''
      ? '–'
      : words.__(
          '%1, after request %2',
          one.parent_title || one.parent,
          one.forked_after
        );
  const models = row(words.__('model'), one => one.models.join(', ') || '–');
  // A branch that sent nothing yet has no other model.
  const asked = models.values.filter(value => value !== '–');
  const modelRow = { ...models, differ: new Set(asked).size > 1 };
  const isTree = branches.some(one => one.parent !== '');
  return [
    ...(isTree
      ? [
          {
            ...row(words.__('forked from'), forked),
            // It differs by what it is, and is no figure.
            differ: false
          }
        ]
      : []),
    modelRow,
    row(words.__('policy'), one => one.policy || words.__('configured')),
    row(words.__('requests since'), one => count(one.requests)),
    row(words.__('cost'), one => cost(one, words)),
    row(words.__('input tokens'), one => count(prompt(one.usage))),
    row(words.__('from the cache'), one => count(one.usage.cache_read)),
    row(words.__('output tokens'), one =>
      count(one.usage.output + one.usage.reasoning)
    ),
    row(words.__('newest request'), one => count(one.sizes.at(-1) ?? 0)),
    row(words.__('largest request'), one => count(Math.max(0, ...one.sizes))),
    row(words.__('context decisions'), one => count(one.decisions))
  ];
}

/** Without a known price, one unit is the price of an uncached input token. */
function cost({ cost: paid, units }: Branch, words: IRowWords): string {
  if (paid !== undefined) {
    return dollars(paid);
  }
  return units === undefined
    ? words.__('unknown')
    : words.__('about %1 units (no known price)', count(Math.round(units)));
}

function prompt({ cache_read, cache_write, input }: Usage): number {
  return cache_read + cache_write + input;
}
