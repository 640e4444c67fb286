/**
 * How the tokens of one request add up to its total: what is not seen, and the items scaled.
 *
 * The kernel does the same (`Scale.at` in `context_policies/prompt_cache/ruler.py`).
 */
import {
  MIN_SCALED_TOKENS,
  MAX_FACTOR_RATIO,
  type RulerView
} from '../../../protocol/generated';
import type { ItemStates } from './itemStates';

interface IRequestScale {
  readonly unseen: number;
  readonly factor: number;
}

/** Returns the scale of a request whose items count `tokens`; the ruler's where its total is not known. */
export function requestScale(
  ruler: Pick<RulerView, 'unseen' | 'factor'>,
  total: number | undefined,
  tokens: number
): IRequestScale {
  if (total === undefined) {
    return { unseen: ruler.unseen, factor: ruler.factor };
  }
  let { factor } = ruler;
  if (tokens >= MIN_SCALED_TOKENS) {
    const exact = (total - ruler.unseen) / tokens;
    factor = Math.min(
      Math.max(exact, factor / MAX_FACTOR_RATIO),
      factor * MAX_FACTOR_RATIO
    );
  }
  return total < factor * tokens
    ? { unseen: 0, factor: total / tokens }
    : { unseen: total - factor * tokens, factor };
}

const KNOWN = new WeakMap<ItemStates, Map<number, IRequestScale>>();

/** Returns the scale of a request of a track; counted once. */
export function scaleAt(states: ItemStates, request: number): IRequestScale {
  const known = KNOWN.get(states) ?? new Map<number, IRequestScale>();
  KNOWN.set(states, known);
  const scale = known.get(request) ?? countedScale(states, request);
  known.set(request, scale);
  return scale;
}

function countedScale(states: ItemStates, request: number): IRequestScale {
  const { view, track } = states;
  const count = view.requests.items[request] ?? 0;
  let tokens = 0;
  for (let item = 0; item < count; item++) {
    tokens += states.tokensAt(item, request);
  }
  return requestScale(view.ruler, track.total[request], tokens);
}
