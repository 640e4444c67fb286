/** The view of a session, asked of the source and asked again when the session has grown. */
import { useEffect, useState } from 'react';
import type { TimelineView } from '../../protocol/generated';
import type { IInspectorSource } from '../../state/inspector/source';

const VERSION = 1;

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
  useEffect(() => {
    let isCurrent = true;
    let isAsking = false;
    let isAgain = false;
    let seq: number | null = null;
    const priced = price === null ? {} : { price };
    const ask = () => {
      if (isAsking) {
        isAgain = true;
        return;
      }
      isAsking = true;
      const after = seq === null ? {} : { after: seq };
      void source.ask({ ask: 'view', ...priced, ...after }).then(answer => {
        isAsking = false;
        if (!isCurrent) {
          return;
        }
        const view = answer.view ?? null;
        if (view !== null) {
          seq = view.seq;
        }
        setKnown(before => next(before, view, answer.error));
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

function next(
  before: IKnownView,
  view: TimelineView | null,
  error: string
): IKnownView {
  if (view === null) {
    return error === '' ? before : { ...before, error };
  }
  return view.version > VERSION
    ? {
        view: null,
        error:
          'The session was written by a newer Palimpsest: update this one to inspect it.'
      }
    : { view, error: '' };
}
