/** Actions that answer the agent's questions. */
import { createActionContext } from './actionContext';

export type ReplyAnswer = 'once' | 'always' | 'reject';

/** The scope of an “always” reply. */
type ReplyScope = 'session' | 'project';

export interface IAnswerActions {
  /** Replies to a permission question; the first reply counts. */
  reply(
    askId: string,
    answer: ReplyAnswer,
    feedback?: string,
    scope?: ReplyScope
  ): void;
  /** Answers the model's questions, one list each; null skips them. The first answer counts. */
  answer(questionId: string, answers: string[][] | null): void;
}

export const {
  Provider: AnswerActionsProvider,
  useIfOffered: useAnswerActions
} = createActionContext<IAnswerActions>('answers');
