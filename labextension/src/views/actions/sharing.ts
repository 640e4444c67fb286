/**
 * Actions that share, export and import sessions.
 */
import type {
  Export,
  ExportedFile,
  ImportedRow,
  UnreadableFile
} from '../../protocol/generated';
import { createActionContext } from './actionContext';

export type ExportFormat = NonNullable<Export['form']>;

/** The written file, or the error. */
interface IFileOutcome {
  error?: string;
  file?: ExportedFile;
}

/** The result of an import. */
export interface IImportResult {
  error?: string;
  imported?: readonly ImportedRow[];
  /** Files that could not be read, with the reasons. */
  unreadable?: readonly UnreadableFile[];
}

export interface ISharingActions {
  /** Creates a share page of a session. */
  share(session: string): Promise<IFileOutcome>;
  /** Deletes a share page; `late` if there was none. */
  unshare(session: string): Promise<{ error?: string; late?: boolean }>;
  /** Exports a session to a new file of the project. */
  export(session: string, format: ExportFormat): Promise<IFileOutcome>;
  /** Imports sessions from a file or folder of the project. */
  import(path: string): Promise<IImportResult>;
}

export const {
  Provider: SharingActionsProvider,
  useIfOffered: useSharingActionsIfOffered,
  useOffered: useSharingActions
} = createActionContext<ISharingActions>('sharing actions');
