/**
 * What a person can do from a view; a saved answer offers none of it.
 */
import { createContext, useContext } from 'react';

export type ReplyAnswer = 'once' | 'always' | 'reject';

/** How far an “always” reaches. */
export type ReplyScope = 'session' | 'project';

export interface IActions {
  /** Answers a question; the first answer wins. */
  reply(
    askId: string,
    answer: ReplyAnswer,
    feedback?: string,
    scope?: ReplyScope
  ): void;
  /** Answers what the model asks, for each question; null skips it. The first answer wins. */
  answer?: (questionId: string, answers: string[][] | null) => void;
  /** Shows a picture that the log keeps; resolves to its address, or to nothing. */
  picture?: (url: string) => Promise<string>;
  /** Goes to another session, such as that of a task. */
  open?: (session: string) => void;
  /** Stops the turn, by a button below the answer that is being written; the panel has one above. */
  stopBelow?: () => void;
  /** Sends the request that failed again; resolves to what hindered it, or to nothing. */
  retry?: () => Promise<string>;
}

const ActionsContext = createContext<IActions | null>(null);

export const ActionsProvider = ActionsContext.Provider;

/** Returns what a person can do here, or null where nobody listens. */
export function useActions(): IActions | null {
  return useContext(ActionsContext);
}
