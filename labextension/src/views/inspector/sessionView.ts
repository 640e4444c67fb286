/** The view of a session, asked of the source and asked again when the session has grown. */
import { startTransition, useEffect, useState } from 'react';
import {
  VIEW_VERSION,
  type AskView,
  type TimelineView,
  type ViewAnswer
} from '../../protocol/generated';
import type { IInspectorSource } from '../../state/inspector/source';
import { patchedView } from '../../state/inspector/viewPatch';
import { LATE_MS } from './controls/answers';
import { runAfter } from '../dom/effects';

interface IKnownView {
  readonly view: TimelineView | null;
  readonly error: string;
}

/** Returns the newest view by the prices of a model; an error is one sentence. */
export function useView(
  source: IInspectorSource,
  price: string | null
): IKnownView {
  const [knownView, setKnownView] = useState<IKnownView>({
    view: null,
    error: ''
  });
  const [, setIsLate] = useState(false);
  useEffect(
    () =>
      // Draws again: the source then has the sentence that it waits.
      runAfter(LATE_MS, () => {
        setIsLate(true);
      }),
    [source]
  );
  useEffect(() => {
    let isCurrent = true;
    let isAsking = false;
    let mustAskAgain = false;
    let heldView: TimelineView | null = null;
    const priceField = price === null ? {} : { price };
    const ask = () => {
      if (isAsking) {
        mustAskAgain = true;
        return;
      }
      isAsking = true;
      const query = {
        ask: 'view',
        epoch: '',
        ...priceField,
        ...viewQueryFields(heldView)
      } as const;
      void source.ask(query).then(answer => {
        isAsking = false;
        if (!isCurrent) {
          return;
        }
        const isGrowth = heldView !== null;
        const view = viewInAnswer(heldView, answer);
        if (view === null && (answer.patch ?? null) !== null) {
          // The patch belongs to another view than the held one, so that the whole view is requested.
          heldView = null;
          mustAskAgain = true;
        }
        heldView = view ?? heldView;
        const update = () => {
          setKnownView(previous => nextKnownView(previous, view, answer.error));
        };
        if (isGrowth) {
          // It is drawn in pieces, between which the cursor moves.
          startTransition(update);
        } else {
          update();
        }
        if (mustAskAgain || view?.is_picture === true) {
          mustAskAgain = false;
          ask();
        }
      });
    };
    ask();
    const unsubscribe = source.subscribe?.(ask);
    return () => {
      isCurrent = false;
      unsubscribe?.();
    };
  }, [source, price]);
  return knownView;
}

/** Returns the fields of the next question: for what is drawn first, then for the rest, then for what is newer. */
function viewQueryFields(
  heldView: TimelineView | null
): Pick<AskView, 'part' | 'after' | 'epoch'> {
  if (heldView === null) {
    return { part: 'picture' };
  }
  const { seq, epoch } = heldView;
  return {
    after: seq,
    epoch,
    ...(heldView.is_picture ? { part: 'rest' } : {})
  };
}

/** Returns the view in an answer, or the one that a patch makes of the one that is held. */
function viewInAnswer(
  heldView: TimelineView | null,
  { view, patch }: ViewAnswer
): TimelineView | null {
  return patch !== undefined && heldView !== null
    ? patchedView(heldView, patch)
    : (view ?? null);
}

function nextKnownView(
  previous: IKnownView,
  view: TimelineView | null,
  error: string
): IKnownView {
  if (view === null) {
    return error === '' ? previous : { ...previous, error };
  }
  return view.version > VIEW_VERSION
    ? {
        view: null,
        error:
          'The session was written by a newer Palimpsest: update this one to inspect it.'
      }
    : { view, error: '' };
}
