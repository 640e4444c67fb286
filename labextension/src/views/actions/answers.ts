/**
 * How a person answers what the agent asks.
 */
import { createActionContext } from './actionContext';

export type ReplyAnswer = 'once' | 'always' | 'reject';

/** How far an “always” reaches. */
type ReplyScope = 'session' | 'project';

export interface IAnswerActions {
  /** Answers a request for permission; the first answer wins. */
  reply(
    askId: string,
    answer: ReplyAnswer,
    feedback?: string,
    scope?: ReplyScope
  ): void;
  /** Answers what the model asks, for each question; null skips it. The first answer wins. */
  answer(questionId: string, answers: string[][] | null): void;
}

export const {
  Provider: AnswerActionsProvider,
  useIfOffered: useAnswerActions
} = createActionContext<IAnswerActions>('answers');
