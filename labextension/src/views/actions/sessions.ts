/**
 * How a person goes to sessions and keeps them.
 */
import type { SessionRow } from '../../protocol/generated';
import { createActionContext } from './actionContext';

export interface ISessionOpener {
  /** Goes to another session, such as that of a subagent. */
  open(session: string): void;
}

export const {
  Provider: SessionOpenerProvider,
  useIfOffered: useSessionOpenerIfOffered,
  useOffered: useSessionOpener
} = createActionContext<ISessionOpener>('a session opener');

/** Which sessions are wanted. */
interface ISessionQuery {
  /** All of them stand in the title, the notebook's name or the prompts. */
  words: string;
  /** Those that are archived, or those that are not. */
  archived: boolean;
  /** Where the page before ended. */
  cursor?: string;
}

/** Some of the sessions that were found. */
export interface ISessionPage {
  rows: readonly SessionRow[];
  /** All that were found. */
  total: number;
  cursor?: string;
}

export interface ISessionActions {
  /** Finds sessions, newest first; a page of them. */
  list(query: ISessionQuery): Promise<ISessionPage>;
  /** Begins a session and goes on with it. */
  create(): void;
  /** Begins a session with all of another one, or all before a message, and goes on with it. */
  fork(session: string, message?: string): void;
  /** Gives a session another title; resolves to what hindered it, or to nothing. As do these: */
  rename(session: string, title: string): Promise<string>;
  /** Archives a session, or lists it again. */
  archive(session: string, archived: boolean): Promise<string>;
  /** Deletes a session for good. */
  delete(session: string): Promise<string>;
}

export const {
  Provider: SessionActionsProvider,
  useIfOffered: useSessionActionsIfOffered,
  useOffered: useSessionActions
} = createActionContext<ISessionActions>('session actions');
