/** The view of a session, asked of the source and asked again when the session has grown. */
import { startTransition, useEffect, useState } from 'react';
import {
  VIEW_VERSION,
  type TimelineView,
  type ViewAnswer
} from '../../protocol/generated';
import type { IInspectorSource } from '../../state/inspector/source';
import { patchedView } from '../../state/inspector/viewPatch';
import { LATE_MS } from './controls/answers';

interface IKnownView {
  readonly view: TimelineView | null;
  readonly error: string;
}

/** Returns the newest view by the prices of a model; an error is one sentence. */
export function useView(
  source: IInspectorSource,
  price: string | null
): IKnownView {
  const [known, setKnown] = useState<IKnownView>({ view: null, error: '' });
  const [, setIsLate] = useState(false);
  useEffect(() => {
    // The sentence that the source waits is drawn.
    const timer = setTimeout(() => {
      setIsLate(true);
    }, LATE_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [source]);
  useEffect(() => {
    let isCurrent = true;
    let isAsking = false;
    let isAgain = false;
    let held: TimelineView | null = null;
    const priced = price === null ? {} : { price };
    const ask = () => {
      if (isAsking) {
        isAgain = true;
        return;
      }
      isAsking = true;
      const after = held === null ? {} : { after: held.seq, epoch: held.epoch };
      const query = { ask: 'view', epoch: '', ...priced, ...after } as const;
      void source.ask(query).then(answer => {
        isAsking = false;
        if (!isCurrent) {
          return;
        }
        const isGrowth = held !== null;
        const view = newest(held, answer);
        if (view === null && (answer.patch ?? null) !== null) {
          // It is of another view than the one that is held: the whole one is asked for.
          held = null;
          isAgain = true;
        }
        held = view ?? held;
        const show = () => {
          setKnown(before => next(before, view, answer.error));
        };
        if (isGrowth) {
          // It is drawn in pieces, between which the cursor moves.
          startTransition(show);
        } else {
          show();
        }
        if (isAgain) {
          isAgain = false;
          ask();
        }
      });
    };
    ask();
    const end = source.subscribe?.(ask);
    return () => {
      isCurrent = false;
      end?.();
    };
  }, [source, price]);
  return known;
}

/** Returns the view in an answer, or the one that a patch makes of the one that is held. */
function newest(
  held: TimelineView | null,
  { view, patch }: ViewAnswer
): TimelineView | null {
  return patch !== undefined && held !== null
    ? patchedView(held, patch)
    : (view ?? null);
}

function next(
  before: IKnownView,
  view: TimelineView | null,
  error: string
): IKnownView {
  if (view === null) {
    return error === '' ? before : { ...before, error };
  }
  return view.version > VIEW_VERSION
    ? {
        view: null,
        error:
          'The session was written by a newer Palimpsest: update this one to inspect it.'
      }
    : { view, error: '' };
}
