/**
 * The tokens of each kind in each request: the layers of the stacked area.
 *
 * One pass over items and transitions: a running sum by kind, so that it is linear and no table of items by
 * requests is made. Of a session that grows only the requests are counted from which on it differs from before.
 */
import type { ItemStates } from './itemStates';
import { requestScale } from './requestScale';

/** Names of the layers that are no kind of an item. */
export const UNSEEN = 'unseen';
export const PLACEHOLDER = 'placeholder';

export interface IKindSeries {
  /** Names of the layers, lowest first; only those that have tokens somewhere. */
  readonly names: readonly string[];
  /** Tokens of each layer at each request, scaled so that they add up to the request's total. */
  readonly layers: readonly Float64Array[];
  /** Their sum at each request. */
  readonly total: Float64Array;
  /** By kind, and last of what stands in the place of items: the tokens that are counted, not scaled. */
  readonly counted: readonly Float64Array[];
}

/** A track with its layers. */
export interface ICountedTrack {
  readonly states: ItemStates;
  readonly series: IKindSeries;
}

/**
 * Returns the layers of a track: what is not seen first, then the kinds in the view's order; what stands in the
 * place of cleared items is a layer of its own, and a summary counts as summary.
 *
 * `before` is a track that this one may go on from; where nothing differs its layers are returned themselves.
 */
export function kindSeries(
  states: ItemStates,
  before: ICountedTrack | null = null
): IKindSeries {
  const { view } = states;
  const requests = view.requests.id.length;
  const first = before === null ? 0 : firstDifference(before.states, states);
  if (
    before !== null &&
    first === requests &&
    before.series.total.length === requests
  ) {
    return before.series;
  }
  const reusable = first > 0 ? before : null;
  const counted = countedFrom(states, first, reusable?.series.counted ?? []);
  const scales = Array.from({ length: requests }, (_, request) =>
    requestScale(
      view.ruler,
      states.track.total[request],
      counted.reduce((sum, series) => sum + (series[request] ?? 0), 0)
    )
  );
  const layer = (name: string, of: (request: number) => number) => {
    const series = new Float64Array(requests);
    const index = reusable?.series.names.indexOf(name) ?? -1;
    const old = reusable?.series.layers[index]?.subarray(0, first);
    if (old !== undefined) {
      series.set(old);
    }
    let isUsed = old?.some(value => value > 0) ?? false;
    for (let request = first; request < requests; request++) {
      const value = of(request);
      series[request] = value;
      isUsed ||= value > 0;
    }
    return isUsed ? [{ name, series }] : [];
  };
  const ofCount = (sums: Float64Array | undefined) => (request: number) =>
    (sums?.[request] ?? 0) * (scales[request]?.factor ?? 0);
  const used = [
    ...layer(UNSEEN, request => scales[request]?.unseen ?? 0),
    ...view.kinds.flatMap((name, kind) => layer(name, ofCount(counted[kind]))),
    ...layer(PLACEHOLDER, ofCount(counted[view.kinds.length]))
  ];
  const total = new Float64Array(requests);
  if (reusable !== null) {
    total.set(reusable.series.total.subarray(0, first));
  }
  for (const { series } of used) {
    for (let request = first; request < requests; request++) {
      total[request] = (total[request] ?? 0) + (series[request] ?? 0);
    }
  }
  return {
    names: used.map(entry => entry.name),
    layers: used.map(entry => entry.series),
    total,
    counted
  };
}

/** Returns the sums of each layer, of which those before a request are known. */
function countedFrom(
  states: ItemStates,
  first: number,
  reusable: readonly Float64Array[]
): Float64Array[] {
  const { view, track } = states;
  const { items } = view;
  const requests = view.requests.id.length;
  const kinds = view.kinds.length;
  const summary = Math.max(view.kinds.indexOf('summary'), 0);
  const sums = Array.from({ length: kinds + 1 }, (_, layer) => {
    const series = new Float64Array(requests);
    // A kind that came since has no sums yet; the place of cleared items is the last.
    const index = layer === kinds ? reusable.length - 1 : layer;
    const old =
      layer < kinds && layer >= reusable.length - 1
        ? undefined
        : reusable[index];
    if (old !== undefined) {
      series.set(old.subarray(0, first));
    }
    return series;
  });
  const add = (layer: number, request: number, tokens: number) => {
    const series = sums[layer];
    if (series !== undefined && request >= first && request < requests) {
      series[request] = (series[request] ?? 0) + tokens;
    }
  };
  // Differences first; they are summed at the end.
  const { request: at, state, tokens } = track.transitions;
  const count = (item: number) => {
    const entered = items.entered[item] ?? 0;
    const kind = items.kind[item] ?? 0;
    let layer = kind;
    let shownTokens = items.tokens[item] ?? 0;
    add(layer, entered, shownTokens);
    for (const index of states.transitionsOf(item)) {
      // A decision that was made before an item was sent first holds from there on.
      const request = Math.max(at[index] ?? 0, entered);
      const now = state[index] ?? 'whole';
      const next =
        now === 'whole' ? (items.tokens[item] ?? 0) : (tokens[index] ?? 0);
      const nextLayer =
        now === 'whole' || now === 'truncated'
          ? kind
          : now === 'summarised'
            ? summary
            : kinds;
      add(layer, request, -shownTokens);
      add(nextLayer, request, next);
      layer = nextLayer;
      shownTokens = next;
    }
  };
  for (const item of changedSince(states, first)) {
    count(item);
  }
  for (const series of sums) {
    let sum = first > 0 ? (series[first - 1] ?? 0) : 0;
    for (let request = first; request < requests; request++) {
      sum += series[request] ?? 0;
      series[request] = sum;
    }
  }
  return sums;
}

/** Returns the items that entered at a request or later, or are shown otherwise then. */
function changedSince(states: ItemStates, first: number): Iterable<number> {
  const { items } = states.view;
  const changed = new Set<number>();
  for (let item = items.id.length - 1; item >= 0; item--) {
    if ((items.entered[item] ?? 0) >= first) {
      changed.add(item);
    }
  }
  const { item: of, request: at } = states.track.transitions;
  for (let index = of.length - 1; index >= 0; index--) {
    if ((at[index] ?? 0) < first) {
      break;
    }
    changed.add(of[index] ?? 0);
  }
  return changed;
}

/** Returns the first request that two tracks count otherwise; the number of their requests where none is. */
function firstDifference(left: ItemStates, right: ItemStates): number {
  const [leftView, rightView] = [left.view, right.view];
  if (
    leftView.ruler.factor !== rightView.ruler.factor ||
    leftView.ruler.unseen !== rightView.ruler.unseen ||
    commonLength([leftView.kinds], [rightView.kinds]) < leftView.kinds.length ||
    leftView.kinds.indexOf('summary') !== rightView.kinds.indexOf('summary')
  ) {
    return 0;
  }
  let first = Math.min(
    leftView.requests.id.length,
    rightView.requests.id.length,
    commonLength([left.track.total], [right.track.total])
  );
  const items = commonLength(
    [leftView.items.kind, leftView.items.entered, leftView.items.tokens],
    [rightView.items.kind, rightView.items.entered, rightView.items.tokens]
  );
  for (const { entered } of [leftView.items, rightView.items]) {
    for (let item = items; item < entered.length; item++) {
      first = Math.min(first, entered[item] ?? 0);
    }
  }
  const [before, after] = [left.track.transitions, right.track.transitions];
  const moves = commonLength(
    [before.item, before.request, before.state, before.tokens],
    [after.item, after.request, after.state, after.tokens]
  );
  for (const { request } of [before, after]) {
    for (let index = moves; index < request.length; index++) {
      first = Math.min(first, request[index] ?? 0);
    }
  }
  return first;
}

/** Returns how many values the lists of one side share with those of the other at their beginnings. */
function commonLength(
  left: readonly (readonly unknown[])[],
  right: readonly (readonly unknown[])[]
): number {
  let most = Infinity;
  left.forEach((list, index) => {
    const other = right[index] ?? [];
    const end = Math.min(list.length, other.length, most);
    let at = list === other ? end : 0;
    while (at < end && list[at] === other[at]) {
      at += 1;
    }
    most = at;
  });
  return most;
}
