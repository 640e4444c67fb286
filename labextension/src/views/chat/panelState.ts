/**
 * What the panel shows; whoever owns a kernel provides it.
 */
import type { ITranscript } from '../../state/store/transcript';
import type { SendKey } from '../composer/composer';

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
