/** Actions on sessions. */
import type { BranchTable, SessionSummary } from '../../protocol/generated';
import { createActionContext } from './actionContext';

export interface ISessionOpener {
  /** Switches to another session, such as a subagent's. */
  open(session: string): void;
}

export const {
  Provider: SessionOpenerProvider,
  useIfOffered: useSessionOpenerIfOffered,
  useOffered: useSessionOpener
} = createActionContext<ISessionOpener>('a session opener');

/** The criteria of a search for sessions. */
interface ISessionQuery {
  /** Words that must all appear in the title, the notebook's name or the prompts. */
  words: string;
  /** Whether to search the archived sessions, or the others. */
  archived: boolean;
  /** The end of the previous page. */
  cursor?: string;
}

/** One page of search results. */
export interface ISessionPage {
  rows: readonly SessionSummary[];
  /** The number of all results. */
  total: number;
  cursor?: string;
}

export interface ISessionActions {
  /** Resolves to a page of sessions, newest first. */
  list(query: ISessionQuery): Promise<ISessionPage>;
  /** Creates a session and switches to it. */
  create(): void;
  /** Forks a session, wholly or before a message, and switches to the fork. */
  fork(session: string, message?: string): void;
  /** Compares a session with its forks; resolves to the table, or to an error sentence. */
  branches(session: string): Promise<BranchTable | string>;
  /** Renames a session; resolves to the error, or to an empty string, as the functions below do. */
  rename(session: string, title: string): Promise<string>;
  /** Archives a session, or unarchives it. */
  archive(session: string, archived: boolean): Promise<string>;
  /** Deletes a session for good. */
  delete(session: string): Promise<string>;
}

export const {
  Provider: SessionActionsProvider,
  useIfOffered: useSessionActionsIfOffered,
  useOffered: useSessionActions
} = createActionContext<ISessionActions>('session actions');
