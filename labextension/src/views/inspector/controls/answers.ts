/** Questions to the source whose newest answer is shown. */
import { useEffect, useRef, useState } from 'react';
import type { ViewAnswer, ViewQuery } from '../../../protocol/generated';
import type { IInspectorSource } from '../../../state/inspector/source';

/** Between the last change and the question. */
const PAUSE_MS = 120;

export interface IAsked {
  /** The newest answer; it stays until the next has come. */
  readonly answer: ViewAnswer | null;
  /** Whether another answer is on its way. */
  readonly isWaiting: boolean;
}

/** Asks when the question has not changed for a moment; null asks nothing. */
export function useAnswer(
  source: IInspectorSource,
  query: ViewQuery | null,
  pauseMs = PAUSE_MS
): IAsked {
  const key = query === null ? '' : JSON.stringify(query);
  const [known, setKnown] = useState<{
    key: string;
    answer: ViewAnswer | null;
  }>({ key: '', answer: null });
  const newest = useRef('');
  useEffect(() => {
    newest.current = key;
    if (key === '') {
      return;
    }
    const timer = setTimeout(() => {
      void source.ask(JSON.parse(key) as ViewQuery).then(answer => {
        if (newest.current === key) {
          setKnown({ key, answer });
        }
      });
    }, pauseMs);
    return () => {
      clearTimeout(timer);
    };
  }, [source, key, pauseMs]);
  useEffect(
    () => () => {
      newest.current = '';
    },
    []
  );
  return {
    answer: key === '' ? null : known.answer,
    isWaiting: key !== known.key
  };
}
