/** The state that the panel shows, provided by the owner of a kernel. */
import type { ITranscript } from '../../state/store/transcript';
import type { SendKey } from '../composer/composer';

/** The status of the active notebook's kernel and session. */
export type PanelStatus =
  | 'no-notebook'
  | 'no-kernel'
  | 'connecting'
  | 'absent'
  | 'loading'
  | 'starting'
  | 'dead'
  | 'ready';

export interface IPanelState {
  status: PanelStatus;
  /** The file name of the active notebook; empty if there is none. */
  notebook: string;
  /** A key for each notebook and session, so that a draft stays where it was written. */
  key: string;
  /** Whether the panel itself switched to this session, not a cell. */
  switchedHere?: boolean;
  transcript: ITranscript;
  /** Whether the session was chosen but its messages have not arrived yet. */
  loading?: boolean;
  /** Whether another kernel writes this session. */
  readOnly: boolean;
  /** The turns whose answers the notebook's cells do not show. */
  missingAnswers?: ReadonlySet<string>;
  /** The current error in one sentence; empty if there is none. */
  failure: string;
  /** A notice about how the session was opened, such as a moved notebook; empty if there is none. */
  notice?: string;
  sendKey: SendKey;
  /** Grows with each request to search the session; 0 while nothing is searched. */
  search: number;
}
