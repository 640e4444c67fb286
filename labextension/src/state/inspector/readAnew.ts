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
  /** Something that the cache held was not read from it; of an estimate: would not be. */
  readonly isBreak: boolean;
  readonly isFact: boolean;
}

/** Returns the three pieces of the later request, and the price of the second. */
export function readAnew(view: TimelineView, found: IDifference): IReadAnew {
  const { reported, from, to } = found;
  if (reported !== null) {
    const broken = view.breaks.find(one => one.request === to);
    const before = Math.min(view.requests.reported[from] ?? 0, reported.input);
    // Where nothing is cached, what only grew sends the words of the request before again, and pays for them.
    const isGrown = reported.read < 1 && found.firstChanged === null;
    // Where nothing came from a cache though something changed, the words that stayed were paid for again, too.
    // How many is known by the texts only, whose sum is not what was reported.
    const same = found.common + found.again;
    const stayed =
      reported.read < 1
        ? (reported.input * same) / Math.max(same + found.fresh, 1)
        : 0;
    const anew = broken?.loss ?? (isGrown ? before : stayed);
    return {
      read: reported.read,
      anew,
      fresh: Math.max(reported.input - reported.read - anew, 0),
      cost: broken?.cost ?? 0,
      why: broken?.words ?? '',
      isBreak: broken !== undefined,
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
    isBreak: found.again >= 1,
    isFact: false
  };
}
