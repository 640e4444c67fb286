/** Hooks that send questions to the source and return the newest answer. */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { ViewAnswer, ViewQuery } from '../../../protocol/generated';
import type { IInspectorSource } from '../../../state/inspector/source';
import { runAfter } from '../../dom/effects';

/** The pause between the last change and the question. */
const PAUSE_MS = 120;
/** A growing session is asked about again once it has not changed for REST_MS, at the latest after the next constant. */
const REST_MS = 500;
const MAX_REST_MS = 3000;
/** An answer that takes longer is late; a source says a little earlier that it waits. */
export const LATE_MS = 1600;

interface IAnswerState {
  /** The newest answer; it stays until the next has come. */
  readonly answer: ViewAnswer | null;
  /** Whether another answer is awaited. */
  readonly isWaiting: boolean;
  /** Whether that takes longer than usual. */
  readonly isLate: boolean;
  /** How long the question's first answer took in the kernel; those of the same question later do not change it. */
  readonly milliseconds: number | null;
}

interface IKnownAnswer {
  readonly key: string;
  readonly answer: ViewAnswer | null;
  readonly milliseconds: number | null;
  /** The value of `version` when the question was sent. */
  readonly version: unknown;
}

/**
 * Asks when the question has not changed for a moment; null asks nothing. When `version` changes the same question
 * is asked again, quietly: the answer that is there stays until the next has come.
 */
export function useAnswer(
  source: IInspectorSource,
  query: ViewQuery | null,
  pauseMs = PAUSE_MS,
  version: unknown = null
): IAnswerState {
  const key = query === null ? '' : JSON.stringify(query);
  const [lastAnswer, setLastAnswer] = useState<IKnownAnswer>(() => {
    // What is drawn for paper cannot wait.
    const answer = query === null ? undefined : source.answerNow?.(query);
    return answer === undefined
      ? { key: '', answer: null, milliseconds: null, version: null }
      : { key, answer, milliseconds: answer.milliseconds, version };
  });
  const currentKey = useRef('');
  const behindSinceMs = useRef(0);
  const currentVersion = useRef(version);
  useEffect(() => {
    currentVersion.current = version;
  }, [version]);
  const ask = useCallback(() => {
    const askedVersion = currentVersion.current;
    void source.ask(JSON.parse(key) as ViewQuery).then(answer => {
      if (currentKey.current === key) {
        setLastAnswer(previous => ({
          key,
          answer,
          milliseconds:
            previous.key === key ? previous.milliseconds : answer.milliseconds,
          version: askedVersion
        }));
      }
    });
  }, [source, key]);
  useEffect(() => {
    currentKey.current = key;
    if (key === '') {
      return;
    }
    return runAfter(pauseMs, ask);
  }, [ask, key, pauseMs]);
  const isBehind =
    key !== '' && lastAnswer.key === key && lastAnswer.version !== version;
  useEffect(() => {
    if (!isBehind) {
      behindSinceMs.current = 0;
      return;
    }
    behindSinceMs.current ||= Date.now();
    const remainingMs = behindSinceMs.current + MAX_REST_MS - Date.now();
    return runAfter(Math.max(Math.min(REST_MS, remainingMs), 0), ask);
  }, [ask, isBehind, version]);
  useEffect(
    () => () => {
      currentKey.current = '';
    },
    []
  );
  const isWaiting = key !== lastAnswer.key;
  const [lateKey, setLateKey] = useState('');
  useEffect(() => {
    if (!isWaiting) {
      return;
    }
    return runAfter(LATE_MS, () => {
      setLateKey(key);
    });
  }, [isWaiting, key]);
  return {
    answer: key === '' ? null : lastAnswer.answer,
    isWaiting,
    isLate: isWaiting && lateKey === key,
    milliseconds: lastAnswer.milliseconds
  };
}

/**
 * Asks for a text. The one that is there stays while a cursor moves on, and goes when the next is late: it would be read
 * as that of another place.
 */
export function useText(
  ...question: Parameters<typeof useAnswer>
): IAnswerState {
  const answerState = useAnswer(...question);
  return answerState.isLate ? { ...answerState, answer: null } : answerState;
}
