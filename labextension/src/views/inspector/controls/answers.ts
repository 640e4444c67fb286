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
  /** The value of `moment` when the question was sent. */
  readonly moment: unknown;
}

/**
 * Asks when the question has not changed for a moment; null asks nothing. When `moment` changes the same question
 * is asked again, quietly: the answer that is there stays until the next has come.
 */
export function useAnswer(
  source: IInspectorSource,
  query: ViewQuery | null,
  pauseMs = PAUSE_MS,
  moment: unknown = null
): IAnswerState {
  const key = query === null ? '' : JSON.stringify(query);
  const [lastAnswer, setLastAnswer] = useState<IKnownAnswer>(() => {
    // What is drawn for paper cannot wait.
    const answer = query === null ? undefined : source.answerNow?.(query);
    return answer === undefined
      ? { key: '', answer: null, milliseconds: null, moment: null }
      : { key, answer, milliseconds: answer.milliseconds, moment };
  });
  const currentKey = useRef('');
  const behindSince = useRef(0);
  const currentMoment = useRef(moment);
  useEffect(() => {
    currentMoment.current = moment;
  }, [moment]);
  const ask = useCallback(() => {
    const askedMoment = currentMoment.current;
    void source.ask(JSON.parse(key) as ViewQuery).then(answer => {
      if (currentKey.current === key) {
        setLastAnswer(before => ({
          key,
          answer,
          milliseconds:
            before.key === key ? before.milliseconds : answer.milliseconds,
          moment: askedMoment
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
    key !== '' && lastAnswer.key === key && lastAnswer.moment !== moment;
  useEffect(() => {
    if (!isBehind) {
      behindSince.current = 0;
      return;
    }
    behindSince.current ||= Date.now();
    const latest = behindSince.current + MAX_REST_MS - Date.now();
    return runAfter(Math.max(Math.min(REST_MS, latest), 0), ask);
  }, [ask, isBehind, moment]);
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
export function useText(...asked: Parameters<typeof useAnswer>): IAnswerState {
  const answered = useAnswer(...asked);
  return answered.isLate ? { ...answered, answer: null } : answered;
}
