/** What a request paid anew: what was reported where the recording says it, else what the texts say. */
import type { TimelineView } from '../../protocol/generated';
import type { IDifference } from './difference';

export interface IReadAnew {
  /** Tokens that came from the cache, the same ones that were paid again, and new ones. */
  readonly read: number;
  readonly anew: number;
  readonly fresh: number;
  /** In the money of the view's price. */
  readonly cost: number;
  readonly why: string;
  readonly isFact: boolean;
}

/** Returns the three pieces of the later request, and the price of the second. */
export function readAnew(view: TimelineView, found: IDifference): IReadAnew {
  const { reported, to } = found;
  if (reported !== null) {
    const broken = view.breaks.find(one => one.request === to);
    const anew = broken?.loss ?? 0;
    return {
      read: reported.read,
      anew,
      fresh: Math.max(reported.input - reported.read - anew, 0),
      cost: broken?.cost ?? 0,
      why: broken?.words ?? '',
      isFact: true
    };
  }
  const { input, read, write } = view.price;
  const perToken = Math.max((write || input) - read, 0);
  return {
    read: found.common,
    anew: found.again,
    fresh: found.fresh,
    cost: (found.again * perToken) / 1e6,
    why: '',
    isFact: false
  };
}
