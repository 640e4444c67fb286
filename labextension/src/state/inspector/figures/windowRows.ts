/** The content of the context window at one request: one row for each item. */
import { isGone, type ItemState, type ItemStates } from './itemStates';
import { scaleAt } from './requestScale';

interface IWindowRow {
  readonly item: number;
  readonly kind: string;
  /** Tokens, scaled to the request's total. */
  readonly tokens: number;
  readonly state: ItemState;
  /** Requests since it entered. */
  readonly age: number;
}

/** Returns the items that a request holds, in the order in which it holds them. */
export function windowRows(states: ItemStates, request: number): IWindowRow[] {
  const { view } = states;
  const { order } = view.items;
  const itemCount = view.requests.items[request] ?? 0;
  const { factor } = scaleAt(states, request);
  const rows: IWindowRow[] = [];
  const indexCount = order.length > 0 ? order.length : itemCount;
  for (let index = 0; index < indexCount; index++) {
    const item = order.length > 0 ? (order[index] ?? 0) : index;
    const state = states.stateAt(item, request);
    if (state === null) {
      continue;
    }
    const tokens = states.tokensAt(item, request) * factor;
    if (isGone(state) && tokens === 0) {
      continue;
    }
    rows.push({
      item,
      kind:
        state === 'summarised'
          ? 'summary'
          : (view.kinds[view.items.kind[item] ?? 0] ?? ''),
      tokens,
      state,
      age: request - (view.items.entered[item] ?? 0)
    });
  }
  return rows;
}

/** Returns the rows, largest first. */
export function largestFirst(rows: readonly IWindowRow[]): IWindowRow[] {
  return [...rows].sort((left, right) => right.tokens - left.tokens);
}
