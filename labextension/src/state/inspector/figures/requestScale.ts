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
  readonly unseenTokens: number;
  readonly factor: number;
}

/** Returns the scale of a request whose items count `tokens`; the ruler's where its total is not known. */
export function requestScale(
  ruler: Pick<RulerView, 'unseen' | 'factor'>,
  total: number | undefined,
  tokens: number
): IRequestScale {
  if (total === undefined) {
    return { unseenTokens: ruler.unseen, factor: ruler.factor };
  }
  let { factor } = ruler;
  if (tokens >= MIN_SCALED_TOKENS) {
    const exactFactor = (total - ruler.unseen) / tokens;
    factor = Math.min(
      Math.max(exactFactor, factor / MAX_FACTOR_RATIO),
      factor * MAX_FACTOR_RATIO
    );
  }
  return total < factor * tokens
    ? { unseenTokens: 0, factor: total / tokens }
    : { unseenTokens: total - factor * tokens, factor };
}

const SCALE_CACHE = new WeakMap<ItemStates, Map<number, IRequestScale>>();

/** Returns the scale of a request of a track; cached. */
export function scaleAt(states: ItemStates, request: number): IRequestScale {
  const scales = SCALE_CACHE.get(states) ?? new Map<number, IRequestScale>();
  SCALE_CACHE.set(states, scales);
  const scale = scales.get(request) ?? countedScale(states, request);
  scales.set(request, scale);
  return scale;
}

function countedScale(states: ItemStates, request: number): IRequestScale {
  const { view, track } = states;
  const itemCount = view.requests.items[request] ?? 0;
  let tokens = 0;
  for (let item = 0; item < itemCount; item++) {
    tokens += states.tokensAt(item, request);
  }
  return requestScale(view.ruler, track.total[request], tokens);
}
