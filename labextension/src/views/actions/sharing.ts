/**
 * How a person passes sessions on: share pages, exports and imports.
 */
import type {
  Export,
  ExportedFile,
  ImportedRow,
  UnreadableFile
} from '../../protocol/generated';
import { createActionContext } from './actionContext';

export type ExportFormat = NonNullable<Export['form']>;

/** The file that was written, or what hindered it. */
interface IFileOutcome {
  error?: string;
  file?: ExportedFile;
}

/** What came of an import. */
export interface IImportResult {
  error?: string;
  imported?: readonly ImportedRow[];
  /** What could not be read, and why. */
  unreadable?: readonly UnreadableFile[];
}

export interface ISharingActions {
  /** Makes a share page of a session. */
  share(session: string): Promise<IFileOutcome>;
  /** Deletes a share page; `late` where there was none. */
  unshare(session: string): Promise<{ error?: string; late?: boolean }>;
  /** Writes a session to a new file of the project. */
  export(session: string, format: ExportFormat): Promise<IFileOutcome>;
  /** Imports sessions from a file or folder of the project. */
  import(path: string): Promise<IImportResult>;
}

export const {
  Provider: SharingActionsProvider,
  useIfOffered: useSharingActionsIfOffered,
  useOffered: useSharingActions
} = createActionContext<ISharingActions>('sharing actions');
