/**
 * The tokens of each kind in each request: the layers of the stacked area.
 *
 * One pass over items and transitions: a running sum by kind, so that it is linear and no table of items by
 * requests is made.
 */
import type { TimelineView, TrackView } from '../../protocol/generated';

/** Names of the layers that are no kind of an item. */
export const UNSEEN = 'unseen';
export const PLACEHOLDER = 'placeholder';

export interface IKindSeries {
  /** Names of the layers, lowest first; only those that have tokens somewhere. */
  readonly names: readonly string[];
  /** Tokens of each layer at each request, scaled by the ruler's factor. */
  readonly layers: readonly Float64Array[];
  /** Their sum at each request. */
  readonly total: Float64Array;
}

/**
 * Returns the layers of a track: what is not seen first, then the kinds in the view's order; what stands in the
 * place of cleared items is a layer of its own, and a summary counts as summary.
 */
export function kindSeries(view: TimelineView, track: TrackView): IKindSeries {
  const requests = view.requests.id.length;
  const kinds = view.kinds.length;
  const { items, ruler } = view;
  const layers = Array.from(
    { length: kinds + 2 },
    () => new Float64Array(requests + 1)
  );
  const summary = Math.max(view.kinds.indexOf('summary'), 0);
  const add = (layer: number, request: number, tokens: number) => {
    const series = layers[layer];
    if (series !== undefined && request < requests) {
      series[request] = (series[request] ?? 0) + tokens;
    }
  };
  // Differences first; they are summed at the end.
  const shownIn = new Int32Array(items.id.length);
  const shown = Float64Array.from(items.tokens);
  items.kind.forEach((kind, item) => {
    shownIn[item] = kind;
    add(kind, items.entered[item] ?? 0, shown[item] ?? 0);
  });
  const { item: of, request: at, state, tokens } = track.transitions;
  of.forEach((item, place) => {
    // A decision that was made before an item was sent first holds from there on.
    const request = Math.max(at[place] ?? 0, items.entered[item] ?? 0);
    const kind = items.kind[item] ?? 0;
    const now = state[place] ?? 'whole';
    const layer =
      now === 'whole' || now === 'truncated'
        ? kind
        : now === 'summarised'
          ? summary
          : kinds;
    const next =
      now === 'whole' ? (items.tokens[item] ?? 0) : (tokens[place] ?? 0);
    add(shownIn[item] ?? 0, request, -(shown[item] ?? 0));
    add(layer, request, next);
    shownIn[item] = layer;
    shown[item] = next;
  });
  for (const series of layers) {
    let sum = 0;
    for (let request = 0; request < requests; request++) {
      sum += (series[request] ?? 0) * ruler.factor;
      series[request] = sum < 1e-6 ? 0 : sum;
    }
  }
  layers[kinds + 1]?.fill(ruler.unseen, 0, requests);
  const named = [
    { name: UNSEEN, series: layers[kinds + 1] },
    ...view.kinds.map((name, kind) => ({ name, series: layers[kind] })),
    { name: PLACEHOLDER, series: layers[kinds] }
  ].flatMap(({ name, series }) =>
    series === undefined ? [] : [{ name, series: series.subarray(0, requests) }]
  );
  const used = named.filter(({ series }) => series.some(one => one > 0));
  const total = new Float64Array(requests);
  for (const { series } of used) {
    for (let request = 0; request < requests; request++) {
      total[request] = (total[request] ?? 0) + (series[request] ?? 0);
    }
  }
  return {
    names: used.map(one => one.name),
    layers: used.map(one => one.series),
    total
  };
}
