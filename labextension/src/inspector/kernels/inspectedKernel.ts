/** The kernel that answers an inspector's questions: a notebook's, or one of its own for a recorded file. */
import type { Contents } from '@jupyterlab/services';
import type { ILink } from '../../kernel/kernelLink';

/** Why an inspector has no answers yet, or `ready`. */
export type InspectedState =
  | 'no-notebook'
  | 'no-kernel'
  | 'starting'
  | 'connecting'
  | 'loading'
  | 'absent'
  | 'dead'
  | 'failed'
  | 'ready';

export interface IInspectedKernel {
  readonly state: InspectedState;
  readonly link: ILink | null;
  /** The recorded file as the kernel finds it; undefined for a session of the notebook. */
  readonly path?: string;
  /** Path of the notebook or the recorded file on the server; it changes where that is renamed. */
  readonly file: string;
  /** When the recorded file was changed last, as far as is known; it changes as the file does. */
  readonly stamp?: string;
  /** The files of the server, to follow another one that the kernel reads. */
  readonly contents: Contents.IManager;
  /** Returns any file of the server as the kernel finds it. */
  pathOf(file: string): string;
  /** The reason of `failed`, in one sentence. */
  readonly failure: string;
  /** Whether the kernel runs code, and may answer late. */
  readonly isBusy: boolean;
  /** Calls back after each change; returns a function that unsubscribes. */
  subscribe(onChange: () => void): () => void;
  /** Applies the remedy for the state: opens the notebook, loads the package, or starts the kernel. */
  applyRemedy(): void;
  dispose(): void;
}
