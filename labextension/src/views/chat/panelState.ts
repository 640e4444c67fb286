/**
 * What the panel shows and what a person can do in it; whoever owns a kernel provides both.
 */
import { createContext, useContext } from 'react';
import type {
  AllowanceRow,
  Choices,
  Prompt,
  PromptAdmitted,
  SessionRow
} from '../../protocol/generated';
import type { ITranscript } from '../../state/store/transcript';
import type { IActions } from '../actions/answers';
import type { EditContext } from '../modelContext/editButtons';
import type { IFiles } from '../sessions/importExport';
import type { RequestRevert } from '../transcript/revertControls';
import type { IShare } from '../sessions/sharePage';

/** The one line that a person's click runs in the kernel. */
export const LOAD_COMMAND = '%load_ext palimpsest';

/** How the notebook in front stands to the agent. */
export type PanelStatus =
  | 'no-notebook'
  | 'no-kernel'
  | 'connecting'
  | 'absent'
  | 'loading'
  | 'starting'
  | 'dead'
  | 'ready';

/** Which keys send what is written. */
export type SendKey = 'Enter' | 'Accel Enter';

export interface IPanelState {
  status: PanelStatus;
  /** The notebook in front, by its file's name; empty when there is none. */
  notebook: string;
  /** Tells one notebook's session from another's, so that a draft stays where it was written. */
  key: string;
  transcript: ITranscript;
  /** The session was chosen, and the kernel has not told yet what is in it. */
  loading?: boolean;
  /** Another kernel writes this session. */
  readOnly: boolean;
  /** The turns of cells that the notebook does not show. */
  missingAnswers?: ReadonlySet<string>;
  /** What went wrong, in one sentence; empty when nothing did. */
  failure: string;
  sendKey: SendKey;
}

/** What a person chose for a prompt; without it, as the session has it. */
export type IPromptOptions = Partial<
  Pick<
    Prompt,
    'agent' | 'files' | 'max_steps' | 'model' | 'system' | 'tools' | 'variant'
  >
>;

/** Which sessions are wanted. */
export interface ISessionQuery {
  /** All of them stand in the title, the notebook's name or the prompts. */
  words: string;
  /** Those that were put away, or those that were not. */
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

export interface IChatActions extends IActions {
  /** Loads the package in the kernel; only because a person said so. */
  load(): void;
  /** Lets a person choose a kernel for the notebook. */
  chooseKernel(): void;
  /** Restarts the kernel that died. */
  restart(): void;
  /** Sends a prompt; one that comes while a turn runs waits. Rejects when it was not taken. */
  send(text: string, chosen: IPromptOptions): Promise<void>;
  /** Takes a waiting prompt and sends it into the turn that runs. */
  sendNow(prompt: PromptAdmitted): void;
  /** Takes a waiting prompt back; false when it was too late. */
  withdraw(promptId: string): Promise<boolean>;
  stop(): void;
  /** Puts a summary in the place of what was said. */
  compact(): void;
  /** Chooses what the model sees of a part; resolves to what hindered it, or to nothing. */
  choose: EditContext;
  /** Takes back, undoes that, makes it final, or only looks. */
  revert?: RequestRevert;
  /** Writes the answer of a turn into the notebook; resolves to what hindered it, or to nothing. */
  putBack?: (turn: string) => Promise<string>;
  /** Makes a session a page that can be passed on, and takes it back. */
  share?: IShare;
  /** Writes a session to a file, and brings sessions in from one. */
  files?: IFiles;
  /** Chooses how freely the agent works, from the next call on. */
  useMode(mode: string): void;
  /** Tells what is always allowed here, after taking some of it back; no numbers take back all. */
  allowed(revoke?: readonly number[]): Promise<readonly AllowanceRow[]>;
  /** Believes what this project's own file says about permissions. */
  trust(): Promise<void>;
  /** Tells which models and agents there are. */
  choices(): Promise<Choices | null>;
  /** Finds sessions, newest first; a page of them. */
  sessions(wanted: ISessionQuery): Promise<ISessionPage>;
  open(session: string): void;
  /** Begins a session with all of another one, or all before a message, and goes on with it. */
  fork(session: string, message?: string): void;
  /** Calls a session otherwise; resolves to what hindered it, or to nothing. As do these: */
  retitle(session: string, title: string): Promise<string>;
  /** Puts a session away, or fetches it back. */
  archive(session: string, archived: boolean): Promise<string>;
  /** Deletes a session for good. */
  remove(session: string): Promise<string>;
  create(): void;
  /** Gives the keyboard back to where the person came from. */
  leave(): void;
  /** Says no more what went wrong. */
  forgive(): void;
}

const ChatContext = createContext<IChatActions | null>(null);

export const ChatProvider = ChatContext.Provider;

/** Returns what a person can do in the panel around; null where there is only something to see. */
export function useChatIfAny(): IChatActions | null {
  return useContext(ChatContext);
}

/** Returns what a person can do in the panel around. */
export function useChat(): IChatActions {
  const chat = useChatIfAny();
  if (chat === null) {
    throw new Error('A view of the panel was drawn outside of it.');
  }
  return chat;
}
